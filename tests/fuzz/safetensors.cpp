// Headers of safetensors files, whole files, and indexes of shards.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "fuzz/target.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "io/shard_index.hpp"
#include "io/temp_folder.hpp"
#include "io/utf8.hpp"

namespace omnirt::fuzz {
namespace {

using namespace omnirt::io;

// An input's first byte picks one.
enum Reader : char { header_reader, file_reader, index_reader };

// Touches the ends of a view, so that the sanitizer sees one that is out of bounds.
void touch(std::span<const std::byte> view) {
  if (view.empty()) return;
  volatile const std::byte* bytes = view.data();
  static_cast<void>(bytes[0]);
  static_cast<void>(bytes[view.size() - 1]);
}

void check_header(const SafetensorsHeader& header, std::span<const std::byte> file) {
  size_t filled = header.data_offset;
  std::set<std::string> names;
  for (const TensorEntry& entry : header.entries) {
    require(entry.offset == filled, "tensors follow each other");
    require(entry.offset <= file.size() && entry.bytes <= file.size() - entry.offset,
            "a tensor is inside the file");
    require(tensor_bytes(entry.dtype, entry.shape) == entry.bytes, "bytes are those of the shape");
    require(entry.aligned == (entry.offset % dtype_alignment(entry.dtype) == 0),
            "alignment is told");
    require(find_invalid_utf8(entry.name) == std::string::npos, "names are UTF-8");
    require(names.insert(entry.name).second, "names differ");
    touch(file.subspan(entry.offset, entry.bytes));
    filled += entry.bytes;
  }
  require(filled == file.size(), "tensors fill the file");
}

void read_header(std::span<const std::byte> bytes) {
  check_header(SafetensorsHeader::parse(bytes, bytes.size(), "fuzz"), bytes);
}

// In memory where there is such a file system: each file is flushed, which a disk takes its time
// for.
const std::filesystem::path& scratch() {
  static const bool memory = std::filesystem::is_directory("/dev/shm");
  static const omnirt::testing::TempFolder folder(memory ? std::filesystem::path("/dev/shm")
                                                         : std::filesystem::temp_directory_path());
  return folder.path();
}

// Through a real file: opened either way, every tensor found and read, and written out again.
void read_file_of(std::span<const std::byte> bytes) {
  const std::filesystem::path path = scratch() / "input.safetensors";
  write_file(path, bytes);
  auto file = SafetensorsFile::open(path, bytes.size() % 2 ? Source::mapped : Source::read);
  std::vector<TensorView> tensors;
  for (const TensorEntry& entry : file->entries()) {
    require(file->find(entry.name) == &entry, "a tensor is found by its name");
    touch(file->data(entry));
    tensors.push_back({entry.name, entry.dtype, entry.shape, file->data(entry)});
  }
  const std::filesystem::path copy = scratch() / "copy.safetensors";
  write_safetensors(copy, tensors, file->metadata());
  auto again = SafetensorsFile::open(copy);
  require(again->metadata() == file->metadata(), "metadata survive a round trip");
  for (const TensorEntry& entry : file->entries()) {
    const TensorEntry* found = again->find(entry.name);
    require(found && std::ranges::equal(again->data(*found), file->data(entry)),
            "data survive a round trip");
  }
}

void read_index(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ShardIndex index = ShardIndex::parse(text, "fuzz");
  require(!index.tensors.empty(), "an index lists tensors");
  for (const auto& [name, shard] : index.tensors)
    require(shard < index.shards.size(), "a shard is listed");
  for (const std::string& shard : index.shards) {
    require(std::filesystem::path(shard).filename() == shard, "a shard is a plain name");
  }
}

std::string with_length(const std::string& header, const std::string& data, uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

// A legal file; `moved`: one in which some tensors begin a little before or after the place where
// the last one ends, and which holds as many bytes as the tensors together.
std::string seed_file(Random& random, bool moved) {
  struct Type {
    const char* name;
    size_t bits;
  };
  constexpr std::array<Type, 6> types{
      {{"F32", 32}, {"F16", 16}, {"U8", 8}, {"F8_E4M3", 8}, {"I64", 64}, {"F4", 4}}};
  std::string header = random() % 2 ? R"({"__metadata__":{"format":"pt","\u00fc":"\n"})" : "{";
  size_t offset = 0, total = 0;
  for (size_t i = 0, count = below(6, random); i < count; ++i) {
    const Type& type = types[below(types.size(), random)];
    size_t rows = below(5, random), bytes = rows * 2 * type.bits / 8;
    if (moved && random() % 4 == 0)
      offset = offset + below(9, random) - std::min<size_t>(offset, 4);
    header += fmt::format(R"({}"t{}":{{"dtype":"{}","shape":[{},2],"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", i, type.name, rows, offset, offset + bytes);
    offset += bytes;
    total += bytes;
  }
  header += '}';
  header.append(below(9, random), ' ');
  return with_length(header, std::string(total, 'd'), header.size());
}

std::vector<std::string> safetensors_seeds(Random& random) {
  std::vector<std::string> seeds;
  for (int i = 0; i < 64; ++i) seeds.push_back(seed_file(random, false));
  return seeds;
}

std::vector<std::string> index_seeds() {
  return {
      R"({"metadata":{"total_size":12,"x":[1,null,true,{"y":-1.5e3}]},"weight_map":{"a.w":"s-00001-of-00002.safetensors",)"
      R"("b.w":"s-00002-of-00002.safetensors","\u00fc":"s-00001-of-00002.safetensors"}})",
      R"({"weight_map":{"a":"s.safetensors"}})"};
}

std::string mutate_safetensors(std::string file, Random& random) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  std::string header = file.substr(8, length), data = file.substr(8 + length);
  switch (random() % 9) {
    case 0:  // anywhere in the file
      return mutate_text(std::move(file), random);
    case 1:  // another length
      return with_length(
          header, data,
          random() % 2 ? random() >> below(64, random) : length + below(9, random) - 4);
    case 2:  // more data, or less
      data.resize(below(data.size() + 9, random), 'm');
      return with_length(header, data, length);
    case 3:  // another file
      return seed_file(random, true);
    case 4:  // the same content, spelled in another way: still legal
      header.append(below(40, random), ' ');
      return with_length(header, data, header.size());
    default:
      header = mutate_text(std::move(header), random);
      return with_length(header, data, header.size());
  }
}

}  // namespace

// A few changes to a safetensors file: to its bytes, its header's text or its length. After a
// change of the text the length is mostly made right again, so that the change is reached.
std::string make_input(Random& random) {
  static const auto files = [] {
    Random first(0);
    return safetensors_seeds(first);
  }();
  static const auto indexes = index_seeds();
  if (random() % 8 == 0)
    return char{index_reader} + mutate_text(indexes[below(indexes.size(), random)], random);
  // Files on the disk take longer, so they are fewer.
  char reader = random() % 50 == 0 ? file_reader : header_reader;
  return reader + mutate_safetensors(files[below(files.size(), random)], random);
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  auto bytes = std::as_bytes(std::span(input.substr(1)));
  switch (input.front()) {
    case header_reader:
      return read_header(bytes);
    case file_reader:
      return read_file_of(bytes);
    default:
      return read_index(bytes);
  }
}

}  // namespace omnirt::fuzz
