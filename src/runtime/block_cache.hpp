#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "runtime/step_cache.hpp"
#include "runtime/step_count.hpp"

namespace omnirt {

// What steps of a loop share of a transformer's blocks: what the blocks add to the hidden states,
// of the last step that computed them. A row reuses it or not by itself, whatever batch it is in;
// where one row of a batch must be computed, all are, and the others take what they kept all the
// same.
//   first block (diffusers' FirstBlockCache): the first block is computed at every step, and what
//     it adds says how much has changed: the mean of |change - kept| over that of |kept|. The rest
//     is reused where that is at most the threshold.
//   magnitude (MagCache, Ma et al. 2025, arXiv 2506.09045): all blocks are reused at the steps that
//     a plan skips.
class BlockCache {
 public:
  using Body = std::function<Tensor()>;
  // Called for each batch of a step.
  void enter(const SharedStep& step);
  const SharedStep& step() const { return step_; }
  // Whether take() wants what the first block made.
  bool looks_at_first_block() const { return step_.kind == SharedStep::Kind::first_block; }

  // What the blocks make of `after`, {rows, ...}: body(), or `after` and what they added before.
  // `before` is what the first block took, `after` what it returned; the same tensor where no block
  // was computed.
  Tensor take(const RowIds& rows, const Tensor& before, const Tensor& after, const Body& body);

  void visit(const auto& visitor) const {
    for (const auto& [key, row] : rows_) {
      visitor(row.tail);
      if (row.head.defined()) visitor(row.head);
    }
  }
  void forget() { rows_.clear(); }
  bool empty() const { return rows_.empty(); }
  // Steps of which a batch was computed, and those of which none was.
  size_t full_steps() const { return count_.full(); }
  size_t cached_steps() const { return count_.cached(); }

 private:
  struct Row {
    Tensor head;  // what the first block added, {1, ...}; undefined where none is computed
    Tensor tail;  // what the blocks after it added
  };
  bool reuses(const Row& kept, const Tensor& change) const;

  SharedStep step_;
  std::map<RowId, Row> rows_;
  StepCount count_;
};

}  // namespace omnirt
