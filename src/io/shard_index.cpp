#include "io/shard_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "io/json_scanner.hpp"
#include "io/safetensors.hpp"
#include "io/sniff.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

class IndexReader {
 public:
  IndexReader(std::string_view text, const std::string& file) : scan_(text, file), file_(file) {}

  ShardIndex read() {
    scan_.object("the index", [&](const std::string& key) {
      if (key != "weight_map") return scan_.skip_value();
      if (seen_) scan_.fail("'weight_map' is there twice");
      seen_ = true;
      read_weight_map();
    });
    scan_.finish();
    if (tensors_.empty())
      refuse("'weight_map', which says where each tensor is, is missing or empty");
    return sorted();
  }

 private:
  [[noreturn]] void refuse(std::string message, std::string way_out = "") const {
    throw InvalidFile({file_, "", std::move(message), std::move(way_out)});
  }

  void read_weight_map() {
    scan_.object("weight_map", [&](std::string name) {
      if (tensors_.size() == max_file_tensors) {
        scan_.fail(fmt::format("more than {} tensors", max_file_tensors));
      }
      std::string shard = scan_.string("weight_map, whose values are file names");
      require_plain(shard);
      if (shards_.size() == max_shards && !shards_.contains(shard)) {
        scan_.fail(fmt::format("more than {} shards", max_shards));
      }
      auto place = shards_.emplace(std::move(shard), shards_.size()).first;
      tensors_.emplace_back(std::move(name), place->second);
    });
  }

  void require_plain(const std::string& shard) const {
    constexpr std::string_view not_in_a_name("/\\\0", 3);
    constexpr size_t longest_name = 255;
    if (has_pickle_suffix(shard)) {
      refuse(
          fmt::format("the shard {} holds Python objects, which can run code", shown_name(shard)),
          std::string(pickle_way_out()));
    }
    if (shard.find_first_of(not_in_a_name) != std::string::npos || shard.size() > longest_name ||
        !shard.ends_with(".safetensors")) {
      refuse(
          fmt::format("the shard {} is not the name of a .safetensors file in the index's folder",
                      shown_name(shard)));
    }
  }

  // Renumbers the shards in the order of their names.
  ShardIndex sorted() {
    ShardIndex index;
    std::vector<size_t> renumbered(shards_.size());
    for (const auto& [shard, number] : shards_) {
      renumbered[number] = index.shards.size();
      index.shards.push_back(shard);
    }
    for (auto& [name, shard] : tensors_) shard = renumbered[shard];
    std::ranges::sort(tensors_);
    auto twice = std::ranges::adjacent_find(tensors_, {}, &std::pair<std::string, size_t>::first);
    if (twice != tensors_.end()) {
      refuse(fmt::format("the tensor {} is there twice", shown_name(twice->first)));
    }
    index.tensors = std::move(tensors_);
    return index;
  }

  JsonScanner scan_;
  const std::string& file_;
  bool seen_ = false;
  std::map<std::string, size_t> shards_;
  std::vector<std::pair<std::string, size_t>> tensors_;
};

}  // namespace

ShardIndex ShardIndex::parse(std::string_view text, const std::string& file) {
  return IndexReader(text, file).read();
}

}  // namespace omnirt::io
