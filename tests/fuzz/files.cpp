#include "fuzz/files.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "io/temp_folder.hpp"

namespace omnirt::fuzz {
namespace fs = std::filesystem;

fs::path fresh_folder() {
  static const bool memory = fs::is_directory("/dev/shm");
  static const omnirt::testing::TempFolder folder(memory ? fs::path("/dev/shm")
                                                         : fs::temp_directory_path());
  for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry.path());
  return folder.path();
}

// Not by the project's own writer, which flushes: a disk takes its time for that.
void write_text(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string pack(char kind, const std::vector<std::string>& parts) {
  std::string input(1, kind);
  for (const std::string& part : parts) {
    auto length = static_cast<uint32_t>(part.size());
    input.append(reinterpret_cast<const char*>(&length), sizeof length);
    input += part;
  }
  return input;
}

Packed unpack(std::string_view input, size_t count) {
  Packed packed;
  packed.parts.resize(count);
  if (input.empty()) return packed;
  packed.kind = input.front();
  input.remove_prefix(1);
  for (std::string& part : packed.parts) {
    uint32_t length = 0;
    if (input.size() < sizeof length) break;
    std::memcpy(&length, input.data(), sizeof length);
    input.remove_prefix(sizeof length);
    part = input.substr(0, length);
    input.remove_prefix(part.size());
  }
  return packed;
}

std::string safetensors_file(const std::string& header, const std::string& data) {
  uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + data;
}

}  // namespace omnirt::fuzz
