#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/block_cache.hpp"
#include "runtime/step_cache.hpp"
#include "runtime/taylor_cache.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// What one run keeps of a component between its calls: what is made of values that live as long as
// the run (text embeddings, their keys and values in cross attention), by site and value, and the
// features that steps share. Only what can be made again: it is dropped when a call is made again
// at another level. A kept tensor is replaced, never written into.
class RunState {
 public:
  // Null where nothing was kept at `site` of the value `id`.
  const Tensor* find(const std::string& site, uint64_t id) const {
    auto it = kept_.find({site, id});
    return it == kept_.end() ? nullptr : &it->second.tensor;
  }
  // Kept until the value that `alive` watches is gone.
  const Tensor& keep(const std::string& site, uint64_t id, std::weak_ptr<const void> alive,
                     Tensor made);
  // Calls visitor(site, id, tensor) for what was made of the values `ids`.
  void visit(const std::vector<uint64_t>& ids, const auto& visitor) const {
    for (const auto& [key, kept] : kept_) {
      if (std::ranges::find(ids, key.second) != ids.end())
        visitor(key.first, key.second, kept.tensor);
    }
  }
  // Whether a batch of these values, in these rows, was computed since the state was cleared: what
  // is made once of them is there.
  using Batch = std::vector<std::pair<uint64_t, std::vector<int64_t>>>;
  bool has_made(const Batch& batch) const { return batches_.contains(batch); }
  void note_made(Batch batch) { batches_.insert(std::move(batch)); }
  StepCache& step_cache() { return step_cache_; }
  const StepCache& step_cache() const { return step_cache_; }
  BlockCache& block_cache() { return block_cache_; }
  const BlockCache& block_cache() const { return block_cache_; }
  TaylorCache& taylor_cache() { return taylor_cache_; }
  const TaylorCache& taylor_cache() const { return taylor_cache_; }
  // Of all that is kept, each storage once.
  size_t bytes() const;
  // Of the features that steps share, when as many steps have kept theirs as the cache holds.
  size_t feature_bytes() const;
  bool empty() const {
    return kept_.empty() && step_cache_.empty() && block_cache_.empty() && taylor_cache_.empty();
  }
  // Drops what is kept; the loop's state stays known.
  void clear();
  void forget_features();

 private:
  struct Kept {
    Tensor tensor;
    std::weak_ptr<const void> alive;
  };
  std::map<std::pair<std::string, uint64_t>, Kept> kept_;
  std::set<Batch> batches_;
  StepCache step_cache_;
  BlockCache block_cache_;
  TaylorCache taylor_cache_;
};

}  // namespace omnirt
