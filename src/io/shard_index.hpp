#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omnirt::io {

inline constexpr size_t max_shards = 4096;

// What `*.safetensors.index.json` says: which shard holds which tensor.
struct ShardIndex {
  std::vector<std::string> shards;                      // file names without a folder, sorted
  std::vector<std::pair<std::string, size_t>> tensors;  // name and place in `shards`, sorted

  // Throws InvalidFile, naming `file`, for malformed JSON, no weight_map, a tensor named twice, a
  // shard name that is not a plain file name ending in .safetensors (so that an index cannot reach
  // outside its folder), and more than max_shards or max_file_tensors.
  static ShardIndex parse(std::string_view text, const std::string& file);
};

}  // namespace omnirt::io
