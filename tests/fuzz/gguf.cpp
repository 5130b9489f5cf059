// GGUF files, and safetensors files with separate scales of small numbers.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "fuzz/target.hpp"
#include "io/file.hpp"
#include "io/ggml_types.hpp"
#include "io/gguf.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sharded.hpp"
#include "io/temp_folder.hpp"
#include "io/utf8.hpp"
#include "source_paths.hpp"

namespace omnirt::fuzz {
namespace {

using namespace omnirt::io;

// An input's first byte picks one.
enum Reader : char { gguf_reader, scales_reader };

// The last numbers of a tensor, so that the sanitizer sees a block that is out of bounds.
void widen_end(const TensorEntry& entry, std::span<const std::byte> data) {
  if (!entry.encoding || data.empty()) return;
  size_t count = *tensor_bytes(Dtype::u8, entry.shape), unit = entry.encoding->unit();
  require(count % unit == 0 && entry.encoding->bytes(count) == data.size(),
          "a tensor is whole blocks");
  std::vector<float> numbers(unit);
  entry.encoding->widen(data.subspan(entry.encoding->bytes(count - unit)), count - unit, numbers);
}

void read_gguf(std::span<const std::byte> bytes) {
  GgufHeader header = GgufHeader::parse(bytes, bytes.size(), "fuzz");
  std::set<std::string> names;
  size_t end = header.data_offset;
  for (const TensorEntry& entry : header.entries) {
    require(entry.bytes == 0 || entry.offset >= end, "tensors lie apart");
    require(entry.offset <= bytes.size() && entry.bytes <= bytes.size() - entry.offset,
            "a tensor is inside the file");
    require(find_invalid_utf8(entry.name) == std::string::npos, "names are UTF-8");
    require(names.insert(entry.name).second, "names differ");
    require(entry.encoding || tensor_bytes(entry.dtype, entry.shape) == entry.bytes,
            "bytes are those of the shape");
    widen_end(entry, bytes.subspan(entry.offset, entry.bytes));
    end = std::max(end, entry.offset + entry.bytes);
  }
}

// In memory where there is such a file system: each file is flushed, which a disk takes its time
// for.
const std::filesystem::path& scratch() {
  static const bool memory = std::filesystem::is_directory("/dev/shm");
  static const omnirt::testing::TempFolder folder(memory ? std::filesystem::path("/dev/shm")
                                                         : std::filesystem::temp_directory_path());
  return folder.path();
}

void read_scales(std::span<const std::byte> bytes) {
  const std::filesystem::path path = scratch() / "input.safetensors";
  write_file(path, bytes);
  TensorFiles files = TensorFiles::open_file(path);
  for (const std::string& name : files.names()) {
    FoundTensor found = *files.find(name);
    widen_end(*found.entry, found.data());
  }
}

std::string read_golden(const std::string& name) {
  return read_file(source_path("tests/goldens") / name, 1 << 20);
}

std::vector<std::string> gguf_seeds() {
  return {read_golden("gguf/types.gguf"), read_golden("gguf/written.gguf")};
}

std::vector<std::string> scale_seeds() {
  std::vector<std::string> seeds;
  for (const char* name : {"old_scaled", "comfy_fp8", "comfy_metadata", "nvfp4_of_diffusers", "awq",
                           "fp8_by_row", "int8", "nvfp4"})
    seeds.push_back(read_golden("scaled/" + std::string(name) + ".safetensors"));
  return seeds;
}

// A few changes to bytes, mostly where headers are: single ones, and numbers of 4 and 8.
std::string mutate_bytes(std::string file, Random& random) {
  for (size_t i = 0, changes = 1 + below(3, random); i < changes && file.size() > 16; ++i) {
    size_t header = std::min<size_t>(file.size(), random() % 4 ? 4096 : file.size());
    size_t at = below(header - 8, random);
    const uint64_t numbers[] = {0,
                                1,
                                2,
                                31,
                                255,
                                256,
                                ~uint64_t{0},
                                uint64_t{1} << 63,
                                random(),
                                random() >> below(64, random)};
    uint64_t number = numbers[below(std::size(numbers), random)];
    switch (random() % 5) {
      case 0:
        file[at] = static_cast<char>(number);
        break;
      case 1:
        std::memcpy(&file[at], &number, 4);
        break;
      case 2:
        std::memcpy(&file[at], &number, 8);
        break;
      case 3:
        file.resize(below(file.size(), random));
        break;
      default:
        file[at] = static_cast<char>(file[at] ^ 1 << below(8, random));
    }
  }
  return file;
}

// The header's text changed, and its length made right again.
std::string mutate_scales(const std::string& file, Random& random) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  std::string header = mutate_text(file.substr(8, length), random), data = file.substr(8 + length);
  length = header.size();
  std::string start(8, '\0');
  std::memcpy(start.data(), &length, 8);
  return start + header + data;
}

}  // namespace

std::string make_input(Random& random) {
  static const auto files = gguf_seeds(), scales = scale_seeds();
  // Files on the disk take longer, so they are fewer.
  if (random() % 4) {
    const std::string& seed = files[below(files.size(), random)];
    return char{gguf_reader} + mutate_bytes(seed, random);
  }
  const std::string& seed = scales[below(scales.size(), random)];
  return char{scales_reader} +
         (random() % 4 ? mutate_scales(seed, random) : mutate_bytes(seed, random));
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  auto bytes = std::as_bytes(std::span(input.substr(1)));
  if (input.front() == gguf_reader) return read_gguf(bytes);
  read_scales(bytes);
}

}  // namespace omnirt::fuzz
