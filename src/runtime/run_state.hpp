#pragma once
#include <map>
#include <string>
#include <utility>

#include "tensor/tensor.hpp"

namespace omnirt {

// What one run keeps of a component between its calls, keyed (site, condition): keys and values of
// cross attention, cached features. Only what can be made again: it is dropped when a call is made
// again at another level. A kept tensor is replaced, never written into.
class RunState {
 public:
  const Tensor* find(const std::string& site, const std::string& condition) const {
    auto it = kept_.find({site, condition});
    return it == kept_.end() ? nullptr : &it->second;
  }
  void keep(const std::string& site, const std::string& condition, Tensor value) {
    kept_[{site, condition}] = std::move(value);
  }
  void clear() { kept_.clear(); }
  bool empty() const { return kept_.empty(); }

 private:
  std::map<std::pair<std::string, std::string>, Tensor> kept_;
};

}  // namespace omnirt
