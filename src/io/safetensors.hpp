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
#include "io/mapped_file.hpp"

// The format: 8 bytes with the header's length (little-endian), the header (JSON), the data. As
// strict as the reference (crate safetensors 0.8, tensor.rs): the tensors fill the data without
// gaps and overlaps. Stricter in this: no name twice, no unknown keys, and the limits below.
namespace omnirt::io {

inline constexpr size_t max_safetensors_header = 100'000'000;  // bytes; the reference's limit
inline constexpr size_t max_safetensors_tensors = 100'000;     // in one file
inline constexpr size_t max_safetensors_name = 4096;           // bytes of a tensor's name
inline constexpr size_t max_safetensors_metadata = 100'000;    // keys
inline constexpr size_t max_safetensors_rank = 64;             // as torch's

using SafetensorsMetadata = std::map<std::string, std::string>;

struct TensorEntry {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  size_t offset = 0;  // of the first byte, from the file's start
  size_t bytes = 0;
  // Whether the offset is a multiple of the element's size. A file whose header's length is odd is
  // legal; who computes on such a tensor must copy it first.
  bool aligned = true;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of their data in the file
  SafetensorsMetadata metadata;
  size_t data_offset = 0;  // where the header ends, from the file's start

  // `start` is the beginning of the file and holds its header at least; `file_size` is the whole
  // file's. `file` names it in errors. Throws InvalidFile with the file, the tensor and the
  // numbers.
  static SafetensorsHeader parse(std::span<const std::byte> start, size_t file_size,
                                 const std::string& file);
};

// An open file: the header is read and checked, the data are not touched.
class SafetensorsFile {
 public:
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path,
                                                     Source source = Source::mapped);

  const std::filesystem::path& path() const { return bytes_->path(); }
  std::span<const TensorEntry> entries() const { return header_.entries; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }
  // nullptr when the file has no tensor of this name.
  const TensorEntry* find(std::string_view name) const;
  // A view into the file's bytes, valid as long as this object (or `owner`) lives. `entry` must be
  // one of this file's.
  std::span<const std::byte> data(const TensorEntry& entry) const;
  // What keeps the bytes alive, for a tensor that outlives this object.
  std::shared_ptr<const MappedFile> owner() const { return bytes_; }
  // The bytes of all tensors together.
  size_t data_bytes() const { return bytes_->bytes().size() - header_.data_offset; }

 private:
  explicit SafetensorsFile(std::shared_ptr<const MappedFile> bytes);

  std::shared_ptr<const MappedFile> bytes_;
  SafetensorsHeader header_;
  std::vector<uint32_t> by_name_;  // places in `entries`, sorted by name
};

}  // namespace omnirt::io
