#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/dtype.hpp"
#include "io/encoding.hpp"
#include "io/mapped_file.hpp"

// What files of weights have in common, whatever their format: named tensors, and texts by key.
namespace omnirt::io {

inline constexpr size_t max_file_tensors = 100'000;  // in one file
inline constexpr size_t max_tensor_name = 4096;      // bytes

using FileMetadata = std::map<std::string, std::string>;

struct TensorEntry {
  std::string name;
  // Of the elements; of the numbers that they are widened to, where there is an encoding.
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  size_t offset = 0;  // of the first byte, from the file's start
  size_t bytes = 0;
  // Whether the offset is a multiple of the element's size. A file whose header's length is odd is
  // legal; code that computes on such a tensor must copy it first.
  bool aligned = true;
  // How the bytes encode numbers; null where each element is a number of its type.
  std::shared_ptr<const Encoding> encoding{};

  // As reports call what is stored: "fp16", "q4_k".
  std::string stored_as() const;
};

struct WeightHeader {
  std::vector<TensorEntry> entries;  // in the order of their data in the file
  // Texts; numbers and truth values as text. Lists are left out.
  FileMetadata metadata;
  size_t data_offset = 0;  // where the header ends, from the file's start
};

// An open file: the header is read and checked, the data are not touched.
class WeightFile {
 public:
  // By what the file begins with: GGUF, or else safetensors. Throws InvalidFile as they do.
  static std::shared_ptr<const WeightFile> open(const std::filesystem::path& path,
                                                Source source = Source::mapped);

  const std::filesystem::path& path() const { return bytes_->path(); }
  std::span<const TensorEntry> entries() const { return header_.entries; }
  const FileMetadata& metadata() const { return header_.metadata; }
  // nullptr when the file has no tensor of this name.
  const TensorEntry* find(std::string_view name) const;
  // A view into the file's bytes, valid as long as this object (or `owner`) lives. `entry` must be
  // one of this file's.
  std::span<const std::byte> data(const TensorEntry& entry) const;
  // What keeps the bytes alive, for a tensor that outlives this object.
  std::shared_ptr<const MappedFile> owner() const { return bytes_; }
  // The bytes of all tensors together.
  size_t data_bytes() const;

 protected:
  WeightFile(std::shared_ptr<const MappedFile> bytes, WeightHeader header);

 private:
  std::shared_ptr<const MappedFile> bytes_;
  WeightHeader header_;
  std::vector<uint32_t> by_name_;  // places in `entries`, sorted by name
};

// A tensor and the file that holds its bytes. Valid as long as the file lives.
struct FoundTensor {
  std::shared_ptr<const WeightFile> file;
  std::shared_ptr<const TensorEntry> entry;
  std::span<const std::byte> data() const { return file->data(*entry); }
};

// The entries must have names of their own. Throws InvalidFile naming `file` and the tensor.
void refuse_same_names(std::span<const TensorEntry> entries, const std::string& file);

}  // namespace omnirt::io
