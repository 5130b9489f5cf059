#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt {

// A row of a batch: one image under one condition of the guider.
struct RowId {
  uint32_t condition = 0;  // its place among the guider's conditions
  uint32_t image = 0;      // distinguishes windows and chunks of an image, too
  bool negative = false;   // evaluated under inputs that replace the request's
  auto operator<=>(const RowId&) const = default;  // NOLINT(modernize-use-nullptr): it is not
};
using RowIds = std::vector<RowId>;

// A step of a loop, and how its steps share features.
struct SharedStep {
  size_t index = 0;     // of the step
  size_t interval = 1;  // a full step every `interval`; 1: all steps are full, and nothing is kept
  size_t branch = 0;    // the skip connection above which the network is computed at every step
  size_t order = 0;     // 0: features stay as the last full step had them; 1: they continue on the
                        // line through the last two (TaylorSeer, Liu et al. 2025, arXiv 2503.06923)
  // deep: features below a skip connection, by interval, branch and order; first_block, magnitude:
  // what blocks of a transformer add (runtime/block_cache.hpp); attention, output: what its
  // attentions, or the whole of it, make (runtime/taylor_cache.hpp), by order.
  enum class Kind { deep, first_block, magnitude, attention, output };
  Kind kind = Kind::deep;
  double threshold = 0;  // first_block: the largest relative change that is no reason to compute
  bool skips = false;    // magnitude, attention, output: this step takes what earlier ones kept
  at::ScalarType factors_type = at::kBFloat16;  // attention, output: of what is kept
  bool shares() const { return kind == Kind::deep && interval > 1; }
  bool shares_blocks() const { return kind == Kind::first_block || kind == Kind::magnitude; }
  // Whether a call of this step computes what depends on earlier ones.
  bool shares_any() const { return shares() || shares_blocks() || predicts(); }
  bool predicts() const { return kind == Kind::attention || kind == Kind::output; }
  bool full() const { return !shares() || index % interval == 0; }
  // Distinguishes calls of different work, and those that keep features (ComponentCall).
  std::string variant() const;
};

// Deep features that steps share (DeepCache, Ma et al. 2023, arXiv 2312.00858). Every interval-th
// step, the first among them, is full: it computes the whole network and keeps what enters the
// shallow part, for each row. The steps between compute the shallow part alone.
class StepCache {
 public:
  // Called for each batch of a step. A full step forgets what the one before it kept, except what
  // an order of 1 needs.
  void enter(const SharedStep& step);
  const SharedStep& step() const { return step_; }

  // The features that the full steps kept at `site` for these rows, {rows, ...}, whatever batches
  // they were in then: the last one's features, or these and their change since the one before.
  // Undefined in a full step, and where a row has nothing: then the batch is to be computed and
  // kept, and the step counts as full.
  Tensor find(const std::string& site, const RowIds& rows);
  void keep(const std::string& site, const RowIds& rows, const Tensor& batch);

  // Storages of what is kept; one may be there several times.
  void visit(const auto& visitor) const {
    for (const auto& [key, row] : rows_) visitor(row.batch);
    for (const auto& [key, row] : before_) visitor(row.batch);
  }
  void forget() {
    rows_.clear();
    before_.clear();
  }
  bool empty() const { return rows_.empty(); }
  size_t full_steps() const { return steps_ - cached_steps_; }
  size_t cached_steps() const { return cached_steps_; }

 private:
  struct Row {
    Tensor batch;  // of the step that kept it
    int64_t place = 0;
    size_t index = 0;  // of that step
  };
  using Rows = std::map<std::pair<std::string, RowId>, Row>;  // {site, row}
  // A batch assembled from what was kept of some step: its tensor (undefined where a row is
  // missing), and the step's index.
  struct Batch {
    Tensor tensor;
    size_t index = 0;
  };
  static Batch batch_of(const Rows& rows, const std::string& site, const RowIds& ids);

  SharedStep step_;
  Rows rows_, before_;   // of the last full step, and before it
  bool full_ = true;     // the current step
  bool missed_ = false;  // a batch of it had to be computed
  size_t steps_ = 0;
  size_t cached_steps_ = 0;
};

}  // namespace omnirt
