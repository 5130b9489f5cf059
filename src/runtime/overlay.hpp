#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt {

// A low-rank term next to a weight: the layer adds scale * up(down(x)) to what it computes.
struct SideTerm {
  Tensor down;  // {r, in} or {r, in, kh, kw}, fp32
  Tensor up;    // {out, r} or {out, r, 1, 1}, fp32
  double scale = 1;
};

// What adapters make of one component's weights. The stored weights stay as they are; dropping an
// overlay undoes it exactly.
struct Overlay {
  using Change = std::function<Tensor(const Tensor& stored)>;
  // Says all that the overlay depends on: overlays of equal keys are equal.
  std::string key;
  // By a parameter's index: the weight in its place, fp32, on the CPU. An embedding's may have rows
  // after the stored ones.
  std::map<size_t, Change> changed{};
  std::map<size_t, std::vector<SideTerm>> beside{};
};

}  // namespace omnirt
