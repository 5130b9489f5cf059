#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "io/weight_file.hpp"

// The format: 8 bytes with the header's length (little-endian), the header (JSON), the data. As
// strict as the reference (crate safetensors 0.8, tensor.rs): the tensors fill the data without
// gaps and overlaps. Stricter in this: no name twice, no unknown keys, and the limits below.
namespace omnirt::io {

inline constexpr size_t max_safetensors_header = 100'000'000;  // bytes; the reference's limit
inline constexpr size_t max_safetensors_metadata = 100'000;    // keys
inline constexpr size_t max_safetensors_rank = 64;             // as torch's

struct SafetensorsHeader : WeightHeader {
  // `start` is the beginning of the file and holds its header at least; `file_size` is the whole
  // file's. `file` names it in errors. Throws InvalidFile with the file, the tensor and the
  // numbers.
  static SafetensorsHeader parse(std::span<const std::byte> start, size_t file_size,
                                 const std::string& file);
};

class SafetensorsFile final : public WeightFile {
 public:
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path,
                                                     Source source = Source::mapped);
  static std::shared_ptr<const SafetensorsFile> open(std::shared_ptr<const MappedFile> bytes);

 private:
  using WeightFile::WeightFile;
};

}  // namespace omnirt::io
