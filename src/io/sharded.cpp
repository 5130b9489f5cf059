#include "io/sharded.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "io/file.hpp"
#include "io/scaled_tensors.hpp"
#include "io/shard_index.hpp"
#include "io/sniff.hpp"
#include "io/utf8.hpp"
#include "io/weight_choice.hpp"

namespace omnirt::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file, std::string message, std::string way_out = "") {
  throw InvalidFile({file, "", std::move(message), std::move(way_out)});
}

// A few of many names, for a message.
class Examples {
 public:
  void add(const std::string& text) {
    if (count_++ < most) text_ += (text_.empty() ? "" : ", ") + text;
  }
  size_t count() const { return count_; }
  std::string text() const {
    return count_ > most ? fmt::format("{} and {} more", text_, count_ - most) : text_;
  }

 private:
  static constexpr size_t most = 5;
  size_t count_ = 0;
  std::string text_;
};

std::string_view tensor_name(const FoundTensor& tensor) {
  return tensor.entry->name;
}

void require_shards(const std::vector<std::string>& shards, const fs::path& index_path) {
  Examples missing;
  for (const std::string& shard : shards) {
    std::error_code error;
    if (!fs::exists(index_path.parent_path() / shard, error)) missing.add(shown_name(shard));
  }
  if (missing.count() == 0) return;
  refuse(path_text(index_path),
         fmt::format("{} of the {} shards are missing: {}", missing.count(), shards.size(),
                     missing.text()),
         fix_of_file(index_path, "download them into the same folder"));
}

}  // namespace

TensorFiles TensorFiles::open(const fs::path& folder, std::span<const std::string> bases,
                              const std::string& variant, Source source) {
  WeightChoice choice = choose_weights(folder, bases, variant);
  TensorFiles files = open_file(choice.path, source);
  files.variant_ = std::move(choice.variant);
  return files;
}

TensorFiles TensorFiles::open_file(const fs::path& path, Source source) {
  TensorFiles files;
  if (path.extension() == ".json") {
    files.open_shards(path, source);
    return files;
  }
  std::error_code error;
  if (has_pickle_suffix(path) && fs::is_regular_file(path, error)) {
    refuse(path_text(path), "a file of Python objects can run any code when it is read",
           std::string(pickle_way_out()));
  }
  files.files_.push_back(WeightFile::open(path, source));
  files.add_tensors(path_text(path));
  return files;
}

void TensorFiles::open_shards(const fs::path& index_path, Source source) {
  ShardIndex index =
      ShardIndex::parse(read_file(index_path, max_json_bytes), path_text(index_path));
  require_shards(index.shards, index_path);
  for (const std::string& shard : index.shards) {
    files_.push_back(WeightFile::open(index_path.parent_path() / shard, source));
  }
  require_same_tensors(index, path_text(index_path));
  add_tensors(path_text(index_path));
}

// Every tensor of the index is in its shard, and the shards hold no others: what the index does not
// know would be silently left out, or taken from the wrong file.
void TensorFiles::require_same_tensors(const ShardIndex& index,
                                       const std::string& index_path) const {
  Examples missing, unlisted;
  for (const auto& [name, shard] : index.tensors) {
    if (!files_[shard]->find(name)) {
      missing.add(fmt::format("{} in {}", shown_name(name), index.shards[shard]));
    }
  }
  if (missing.count() > 0) {
    refuse(index_path,
           fmt::format("{} tensors of the index are not in the shards that it names: {}",
                       missing.count(), missing.text()));
  }
  for (size_t shard = 0; shard < files_.size(); ++shard) {
    for (const TensorEntry& entry : files_[shard]->entries()) {
      std::pair<std::string, size_t> wanted(entry.name, shard);
      if (std::ranges::binary_search(index.tensors, wanted)) continue;
      unlisted.add(fmt::format("{} in {}", shown_name(entry.name), index.shards[shard]));
    }
  }
  if (unlisted.count() > 0) {
    refuse(index_path, fmt::format("{} tensors of the shards are not listed in the index: {}",
                                   unlisted.count(), unlisted.text()));
  }
}

void TensorFiles::add_tensors(const std::string& path) {
  FileMetadata metadata;
  for (const auto& file : files_) {
    metadata.insert(file->metadata().begin(), file->metadata().end());
    for (const TensorEntry& entry : file->entries())
      tensors_.push_back({file, std::shared_ptr<const TensorEntry>(file, &entry)});
  }
  std::ranges::sort(tensors_, {}, tensor_name);
  tensors_ = fold_scales(std::move(tensors_), metadata, path);
}

std::optional<FoundTensor> TensorFiles::find(std::string_view name) const {
  auto place = std::ranges::lower_bound(tensors_, name, {}, tensor_name);
  if (place == tensors_.end() || place->entry->name != name) return std::nullopt;
  return *place;
}

std::vector<std::string> TensorFiles::names() const {
  std::vector<std::string> names;
  for (const FoundTensor& tensor : tensors_) names.push_back(tensor.entry->name);
  return names;
}

size_t TensorFiles::total_bytes() const {
  size_t total = 0;
  for (const auto& file : files_) total += file->data_bytes();
  return total;
}

}  // namespace omnirt::io
