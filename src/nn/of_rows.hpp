#pragma once
#include <fmt/format.h>

#include <string>

#include "tensor/tensor.hpp"

namespace omnirt::nn {

// A site of Context::once for what is made of each row of x: batches of other numbers of rows may
// hold the same value, whose rows they take as they need them.
inline std::string of_rows(const std::string& site, const Tensor& x) {
  return fmt::format("{} of {}", site, x.size(0));
}

}  // namespace omnirt::nn
