#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_file.hpp"

namespace omnirt::io {

struct ShardIndex;

// The weights of one component: one file (safetensors or GGUF), or the shards that an index lists.
// Tensors that only hold scales of others are folded into those (io/scaled_tensors).
class TensorFiles {
 public:
  // From a component's folder, as `choose_weights` picks. Throws InvalidFile as that, WeightFile
  // and fold_scales do; for shards also when some are missing, or when index and shards do not name
  // the same tensors in the same files.
  static TensorFiles open(const std::filesystem::path& folder, std::span<const std::string> bases,
                          const std::string& variant = "", Source source = Source::mapped);
  // From one file, or an index next to its shards. A file of Python objects is refused with the way
  // to convert it.
  static TensorFiles open_file(const std::filesystem::path& path, Source source = Source::mapped);

  std::optional<FoundTensor> find(std::string_view name) const;
  // Sorted.
  std::vector<std::string> names() const;
  size_t size() const { return tensors_.size(); }
  // The bytes of all tensors together.
  size_t total_bytes() const;
  const std::vector<std::shared_ptr<const WeightFile>>& files() const { return files_; }
  // "fp16" when the files of that variant were picked, "" for the plain ones.
  const std::string& variant() const { return variant_; }

 private:
  void open_shards(const std::filesystem::path& index_path, Source source);
  void require_same_tensors(const ShardIndex& index, const std::string& index_path) const;
  void add_tensors(const std::string& path);

  std::vector<std::shared_ptr<const WeightFile>> files_;
  std::vector<FoundTensor> tensors_;  // sorted by name
  std::string variant_;
};

}  // namespace omnirt::io
