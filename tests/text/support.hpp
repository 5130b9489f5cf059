#pragma once
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "io/file.hpp"
#include "source_paths.hpp"

namespace omnirt::text {

// The folder of one of the vocabularies that the goldens were made with: "emoji" or "clip-l".
inline std::filesystem::path vocabulary_folder(const std::string& name) {
  return name == "emoji" ? source_path("models/emoji-sd/tokenizer")
                         : source_path("tests/data/tokenizers") / name;
}

// tools/goldens/tokenizer.py makes these.
inline Json golden(const char* file) {
  return io::read_json(source_path("tests/goldens/tokenizer") / file);
}

inline std::string text_of(const Json& item) {
  if (item.contains("text")) return item["text"].get<std::string>();
  std::string text;
  for (int64_t i = 0; i < item["times"].get<int64_t>(); ++i) {
    text += item["repeat"].get<std::string>();
  }
  return text;
}

inline constexpr uint64_t fnv_start = 0xCBF29CE484222325u;

inline uint64_t fnv(const std::vector<int64_t>& ids, uint64_t value = fnv_start) {
  for (int64_t id : ids) value = (value ^ static_cast<uint64_t>(id)) * 0x100000001B3u;
  return value;
}

// A folder that is removed at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "omnirt-text-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  void copy(const std::filesystem::path& file) const {
    std::filesystem::copy_file(file, path_ / file.filename());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace omnirt::text
