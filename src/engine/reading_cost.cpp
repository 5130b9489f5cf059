#include "engine/reading_cost.hpp"

#include <ATen/ops/full.h>

#include <algorithm>
#include <limits>

#include "runtime/context.hpp"

namespace omnirt {
namespace {

Json reading_json(const std::optional<double>& rate, const std::optional<double>& reading_s,
                  double compute_s) {
  if (!rate || !reading_s) return nullptr;
  return {{"bytes_per_s", *rate},
          {"s_per_step", *reading_s},
          {"cost_s_per_step", ReadingCost::cost_s(*reading_s, compute_s)}};
}

}  // namespace

ReadingCost reading_cost(const PlanningFacts& facts, const RunMemoryPlan& plan, uint64_t steps,
                         const io::ReadRates& rates, double products_per_s) {
  ReadingCost cost;
  double products = 0;
  for (const PlannedComponent& component : facts.components) {
    if (steps == 0 || component.calls < steps) continue;
    const uint64_t moved = plan.components.at(component.name).moved_bytes();
    cost.bytes_per_step += moved * component.calls / steps;
    products += component.products / static_cast<double>(steps);
  }
  cost.compute_s = products_per_s > 0 ? products / products_per_s : 0;
  const auto bytes = static_cast<double>(cost.bytes_per_step);
  if (rates.disk) cost.disk_s = bytes / *rates.disk;
  if (rates.cached) cost.cached_s = bytes / *rates.cached;
  return cost;
}

Json ReadingCost::to_json(const io::ReadRates& rates) const {
  return {{"bytes_per_step", bytes_per_step},
          {"compute_s_per_step", compute_s},
          {"from_disk", reading_json(rates.disk, disk_s, compute_s)},
          {"from_page_cache", reading_json(rates.cached, cached_s, compute_s)},
          {"cached_share", rates.cached_share},
          {"note", rates.note}};
}

double measured_products(const ops::OpTable& ops, const ComputeForm& form,
                         const std::function<double()>& now) {
  constexpr int64_t tokens = 256, wide = 1024;
  constexpr int calls = 3;
  auto nothing =
      std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{}, form);
  Context cx(ops, nothing, {});
  const Tensor x = at::full({1, tokens, wide}, 0.5, at::TensorOptions().dtype(form.dtype));
  const Tensor weight = at::full(
      {wide, wide}, 0.25, at::TensorOptions().dtype(form.as_stored ? at::kHalf : form.dtype));
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < calls; ++i) {
    const double before = now();
    ops.linear(cx, {x, weight});
    fastest = std::min(fastest, now() - before);
  }
  return static_cast<double>(tokens * wide * wide) / std::max(fastest, 1e-3) * 1e3;
}

}  // namespace omnirt
