#include "runtime/block_cache.hpp"

#include <ATen/ops/cat.h>

namespace omnirt {

void BlockCache::enter(const SharedStep& step) {
  step_ = step;
  count_.enter(step.index);
}

bool BlockCache::reuses(const Row& kept, const Tensor& change) const {
  if (!kept.tail.defined()) return false;
  if (step_.kind == SharedStep::Kind::magnitude) return step_.skips;
  const auto moved = (change - kept.head).abs().mean().item<double>();
  const auto before = kept.head.abs().mean().item<double>();
  return moved <= step_.threshold * before;
}

Tensor BlockCache::take(const RowIds& rows, const Tensor& before, const Tensor& after,
                        const Body& body) {
  const Tensor added = before.is_same(after) ? Tensor() : after - before;
  auto part = [](const Tensor& of, size_t row) {
    return of.narrow(0, static_cast<int64_t>(row), 1);
  };
  auto change = [&](size_t row) { return added.defined() ? part(added, row) : Tensor(); };
  std::vector<Tensor> reused(rows.size());
  bool all = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& kept = rows_[rows[i]];
    if (reuses(kept, change(i)))
      reused[i] = part(after, i) + kept.tail;
    else
      all = false;
  }
  if (all) return reused.size() == 1 ? reused.front() : at::cat(reused);
  count_.computed();
  const Tensor made = body();
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    any |= reused[i].defined();
    if (reused[i].defined()) continue;
    reused[i] = part(made, i);
    // Rows are replaced one by one: none may hold on to the others of its batch.
    Tensor head = change(i);
    if (head.defined() && rows.size() > 1) head = head.clone();
    rows_[rows[i]] = {head, reused[i] - part(after, i)};
  }
  return any ? at::cat(reused) : made;
}

}  // namespace omnirt
