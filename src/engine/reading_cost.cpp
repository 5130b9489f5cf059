#include "engine/reading_cost.hpp"

#include <ATen/ops/full.h>

#include <algorithm>
#include <limits>

#include "runtime/context.hpp"

namespace omnirt {
namespace {

Json reading_json(const std::optional<double>& rate, const std::optional<double>& reading_s,
                  const ReadingCost& cost) {
  if (!rate || !reading_s) return nullptr;
  return {{"bytes_per_s", *rate},
          {"s_per_step", *reading_s},
          {"cost_s_per_step", cost.cost_s(*reading_s)}};
}

}  // namespace

ReadingCost reading_cost(const PlanningFacts& facts, const RunMemoryPlan& plan, uint64_t steps,
                         const io::ReadRates& rates, double products_per_s) {
  ReadingCost cost;
  double products = 0;
  for (const PlannedComponent& component : facts.components) {
    if (steps == 0 || component.calls < steps) continue;
    const Residency& residency = plan.components.at(component.name);
    const uint64_t moved = residency.moved_bytes() * component.calls / steps;
    cost.bytes_per_step += moved;
    if (residency.prefetch == 0) cost.waited_bytes += moved;
    products += component.products / static_cast<double>(steps);
  }
  cost.compute_s = products_per_s > 0 ? products / products_per_s : 0;
  const auto bytes = static_cast<double>(cost.bytes_per_step);
  if (rates.disk) cost.disk_s = bytes / *rates.disk;
  if (rates.cached) cost.cached_s = bytes / *rates.cached;
  return cost;
}

double ReadingCost::cost_s(double reading_s) const {
  if (bytes_per_step == 0) return 0;
  const double waited =
      reading_s * static_cast<double>(waited_bytes) / static_cast<double>(bytes_per_step);
  return waited + std::max(0.0, reading_s - waited - compute_s);
}

Json ReadingCost::to_json(const io::ReadRates& rates) const {
  return {{"bytes_per_step", bytes_per_step},
          {"compute_s_per_step", compute_s},
          {"from_disk", reading_json(rates.disk, disk_s, *this)},
          {"from_page_cache", reading_json(rates.cached, cached_s, *this)},
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
