#pragma once
#include <map>
#include <string>
#include <utility>

#include "tensor/tensor.hpp"

namespace omnirt {

// What one run keeps between the steps, keyed (site, condition): keys and values of cross
// attention, cached features.
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

 private:
  std::map<std::pair<std::string, std::string>, Tensor> kept_;
};

}  // namespace omnirt
