#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/step_cache.hpp"
#include "runtime/step_count.hpp"

namespace omnirt {

// What modules of a network will make, predicted from what they made at earlier steps by a Taylor
// expansion whose derivatives are differences of the last computed steps (TaylorSeer, Liu et al.
// 2025, arXiv 2503.06923; diffusers' hooks/taylorseer_cache.py). A step's plan says whether it
// predicts (SharedStep::skips); rows of which nothing is known are computed, and their batch with
// them.
class TaylorCache {
 public:
  using Body = std::function<std::vector<Tensor>()>;
  // Called for each batch of a step.
  void enter(const SharedStep& step);
  const SharedStep& step() const { return step_; }

  // body(), a list of {rows, ...}, or what is predicted of it. `site` names the module.
  std::vector<Tensor> take(const std::string& site, const RowIds& rows, const Body& body);

  // What is kept now, and when as many steps were computed as an expansion's order takes.
  void visit(const auto& visitor) const {
    for (const auto& [key, row] : rows_) {
      for (const Factors& factors : row.outputs) {
        for (const Tensor& factor : factors) visitor(factor);
      }
    }
  }
  void forget() { rows_.clear(); }
  bool empty() const { return rows_.empty(); }
  // Steps of which a batch was computed, and those of which none was.
  size_t full_steps() const { return count_.full(); }
  size_t cached_steps() const { return count_.cached(); }

 private:
  using Factors = std::vector<Tensor>;  // of one output by order, {1, ...} each
  struct Row {
    std::vector<Factors> outputs;
    std::vector<at::ScalarType> types;  // of the outputs
    size_t index = 0;                   // of the step that computed them
  };
  Factors expanded(const Tensor& made, const Factors* before, size_t steps) const;
  void update(Row& row, const std::vector<Tensor>& made, int64_t place) const;
  Tensor predicted(const Factors& factors, at::ScalarType type, size_t steps) const;
  std::vector<Tensor> predicted(const std::vector<const Row*>& rows) const;

  SharedStep step_;
  std::map<std::pair<std::string, RowId>, Row> rows_;
  StepCount count_;
};

}  // namespace omnirt
