#include "io/weight_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/gguf.hpp"
#include "io/safetensors.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {

std::string TensorEntry::stored_as() const {
  return encoding ? encoding->name() : std::string(common_dtype_name(dtype));
}

std::shared_ptr<const WeightFile> WeightFile::open(const std::filesystem::path& path,
                                                   Source source) {
  auto bytes = MappedFile::open(path, source);
  if (is_gguf(bytes->bytes())) return GgufFile::open(std::move(bytes));
  return SafetensorsFile::open(std::move(bytes));
}

WeightFile::WeightFile(std::shared_ptr<const MappedFile> bytes, WeightHeader header)
    : bytes_(std::move(bytes)), header_(std::move(header)), by_name_(header_.entries.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::ranges::sort(by_name_, {},
                    [&](uint32_t i) -> std::string_view { return header_.entries[i].name; });
  bytes_->release(0, header_.data_offset);
}

const TensorEntry* WeightFile::find(std::string_view name) const {
  auto name_of = [&](uint32_t i) -> std::string_view { return header_.entries[i].name; };
  auto place = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return place != by_name_.end() && name_of(*place) == name ? &header_.entries[*place] : nullptr;
}

std::span<const std::byte> WeightFile::data(const TensorEntry& entry) const {
  std::span<const std::byte> all = bytes_->bytes();
  ensure(entry.offset <= all.size() && entry.bytes <= all.size() - entry.offset,
         "{}: the entry '{}' is of another file", path_text(path()), entry.name);
  return all.subspan(entry.offset, entry.bytes);
}

size_t WeightFile::data_bytes() const {
  return bytes_->bytes().size() - std::min(bytes_->bytes().size(), header_.data_offset);
}

void refuse_same_names(std::span<const TensorEntry> entries, const std::string& file) {
  // Sorted: names can be made that all fall into one place of a hash table.
  std::vector<const TensorEntry*> by_name;
  by_name.reserve(entries.size());
  for (const TensorEntry& entry : entries) by_name.push_back(&entry);
  std::ranges::sort(by_name, {}, &TensorEntry::name);
  auto twice = std::ranges::adjacent_find(by_name, {}, &TensorEntry::name);
  if (twice == by_name.end()) return;
  throw InvalidFile({fmt::format("{}: tensor {}", file, shown_name((*twice)->name)), "",
                     "the name is there twice", ""});
}

}  // namespace omnirt::io
