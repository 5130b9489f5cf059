#include "runtime/step_cache.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/lerp.h>

namespace omnirt {

std::string SharedStep::variant() const {
  if (kind == Kind::first_block) return "first block";
  if (kind == Kind::magnitude) return "magnitude";
  if (predicts()) {
    return std::string(kind == Kind::output ? "output" : "attention") + " to order " +
           std::to_string(order) + " in " + c10::toString(factors_type);
  }
  if (!shares()) return "";
  return (full() ? "kept above " : "shared above ") + std::to_string(branch);
}

void StepCache::enter(const SharedStep& step) {
  bool begun = steps_ > 0 && step.index == step_.index;
  step_ = step;
  if (begun) return;
  full_ = step.full();
  missed_ = false;
  ++steps_;
  if (!full_) ++cached_steps_;
  if (!full_) return;
  before_ = step.order > 0 ? std::move(rows_) : Rows();
  rows_.clear();
}

StepCache::Batch StepCache::batch_of(const Rows& rows, const std::string& site, const RowIds& ids) {
  std::vector<const Row*> found;
  bool same_batch = true;
  for (const RowId& id : ids) {
    auto it = rows.find({site, id});
    if (it == rows.end()) return {};
    auto place = static_cast<int64_t>(found.size());
    found.push_back(&it->second);
    if (found.back()->index != found.front()->index) return {};
    same_batch &= found.back()->batch.is_same(found.front()->batch) && it->second.place == place;
  }
  const Row& first = *found.front();
  if (same_batch && first.batch.size(0) == static_cast<int64_t>(ids.size()))
    return {first.batch, first.index};
  std::vector<Tensor> parts;
  for (const Row* row : found) parts.push_back(row->batch.narrow(0, row->place, 1));
  return {at::cat(parts), first.index};
}

Tensor StepCache::find(const std::string& site, const RowIds& rows) {
  if (full_ || rows.empty()) return {};
  Batch last = batch_of(rows_, site, rows);
  if (!last.tensor.defined()) {
    if (!missed_) --cached_steps_;
    missed_ = true;
    return {};
  }
  Batch before = step_.order > 0 ? batch_of(before_, site, rows) : Batch();
  if (!before.tensor.defined() || before.index >= last.index) return last.tensor;
  double ahead = static_cast<double>(step_.index - before.index) /
                 static_cast<double>(last.index - before.index);
  return at::lerp(before.tensor, last.tensor, ahead);
}

void StepCache::keep(const std::string& site, const RowIds& rows, const Tensor& batch) {
  for (size_t i = 0; i < rows.size(); ++i) {
    rows_[{site, rows[i]}] = {batch, static_cast<int64_t>(i), step_.index};
  }
}

}  // namespace omnirt
