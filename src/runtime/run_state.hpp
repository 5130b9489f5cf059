#pragma once
#include <map>
#include <string>
#include <utility>

#include "runtime/step_cache.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// What one run keeps of a component between its calls: what is made of inputs that stay the same
// (batches of text embeddings, their keys and values in cross attention), keyed (site, rows of the
// batch), and the features that steps share. Only what can be made again: it is dropped when a call
// is made again at another level. A kept tensor is replaced, never written into.
class RunState {
 public:
  // Null where nothing was kept at `site` for a batch of exactly these rows, in this order.
  const Tensor* find(const std::string& site, const std::string& rows) const {
    auto it = kept_.find({site, rows});
    return it == kept_.end() ? nullptr : &it->second;
  }
  void keep(const std::string& site, const std::string& rows, Tensor value) {
    kept_[{site, rows}] = std::move(value);
  }
  StepCache& step_cache() { return step_cache_; }
  const StepCache& step_cache() const { return step_cache_; }
  // Of all that is kept, each storage once.
  size_t bytes() const;
  bool empty() const { return kept_.empty() && step_cache_.empty(); }
  // Drops what is kept; the loop's state stays known.
  void clear();

 private:
  std::map<std::pair<std::string, std::string>, Tensor> kept_;
  StepCache step_cache_;
};

}  // namespace omnirt
