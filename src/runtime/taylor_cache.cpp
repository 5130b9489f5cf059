#include "runtime/taylor_cache.hpp"

#include <ATen/ops/cat.h>

namespace omnirt {

void TaylorCache::enter(const SharedStep& step) {
  step_ = step;
  count_.enter(step.index);
}

std::vector<Tensor> TaylorCache::take(const std::string& site, const RowIds& rows,
                                      const Body& body) {
  if (step_.skips) {
    std::vector<const Row*> known;
    for (const RowId& id : rows) {
      auto row = rows_.find({site, id});
      if (row != rows_.end()) known.push_back(&row->second);
    }
    if (known.size() == rows.size()) return predicted(known);
  }
  count_.computed();
  std::vector<Tensor> made = body();
  for (size_t i = 0; i < rows.size(); ++i)
    update(rows_[{site, rows[i]}], made, static_cast<int64_t>(i));
  return made;
}

// The differences are taken of numbers as they were kept, and divided by the steps since then.
TaylorCache::Factors TaylorCache::expanded(const Tensor& made, const Factors* before,
                                           size_t steps) const {
  Factors exact{made};
  for (size_t order = 0; before && steps > 0 && order < step_.order; ++order) {
    if (order >= before->size() || (*before)[order].sizes() != made.sizes()) break;
    const Tensor since = exact[order] - (*before)[order].to(made.scalar_type());
    exact.push_back(since / static_cast<double>(steps));
  }
  Factors kept;
  for (const Tensor& factor : exact)
    kept.push_back(factor.to(step_.factors_type, /*non_blocking=*/false, /*copy=*/true));
  return kept;
}

void TaylorCache::update(Row& row, const std::vector<Tensor>& made, int64_t place) const {
  Row now;
  now.index = step_.index;
  for (size_t i = 0; i < made.size(); ++i) {
    const Factors* before = i < row.outputs.size() ? &row.outputs[i] : nullptr;
    now.outputs.push_back(expanded(made[i].narrow(0, place, 1), before, step_.index - row.index));
    now.types.push_back(made[i].scalar_type());
  }
  row = std::move(now);
}

// sum over orders of factor * steps^order / order!
Tensor TaylorCache::predicted(const Factors& factors, at::ScalarType type, size_t steps) const {
  Tensor sum = factors[0].to(type, /*non_blocking=*/false, /*copy=*/true);
  double weight = 1;
  for (size_t order = 1; order < factors.size(); ++order) {
    weight *= static_cast<double>(steps) / static_cast<double>(order);
    sum.add_(factors[order].to(type), weight);
  }
  return sum;
}

std::vector<Tensor> TaylorCache::predicted(const std::vector<const Row*>& rows) const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < rows.front()->outputs.size(); ++i) {
    std::vector<Tensor> parts;
    for (const Row* row : rows)
      parts.push_back(predicted(row->outputs[i], row->types[i], step_.index - row->index));
    outputs.push_back(parts.size() == 1 ? parts.front() : at::cat(parts));
  }
  return outputs;
}

}  // namespace omnirt
