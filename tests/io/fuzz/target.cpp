#include "io/fuzz/target.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_writer.hpp"
#include "io/shard_index.hpp"
#include "io/temp_folder.hpp"
#include "io/utf8.hpp"

namespace omnirt::fuzz {
namespace {

using namespace omnirt::io;

size_t accepted_inputs = 0;

void require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

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

void read(uint8_t reader, std::span<const std::byte> bytes) {
  switch (reader % 3) {
    case header_reader:
      return read_header(bytes);
    case file_reader:
      return read_file_of(bytes);
    default:
      return read_index(bytes);
  }
}

}  // namespace

size_t accepted() {
  return accepted_inputs;
}

}  // namespace omnirt::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace omnirt;
  if (size == 0) return 0;
  try {
    fuzz::read(data[0], std::as_bytes(std::span(data + 1, size - 1)));
    ++fuzz::accepted_inputs;
  } catch (const InvalidFile& refusal) {
    const std::string message = refusal.what();
    fuzz::require(message.size() < 2000, "a message is short");
    fuzz::require(io::find_invalid_utf8(message) == std::string::npos, "a message is UTF-8");
  }
  return 0;
}
