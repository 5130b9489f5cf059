#include "engine/reading_cost.hpp"

#include <ATen/ops/full.h>

#include <algorithm>
#include <limits>

#include "runtime/context.hpp"

namespace omnirt {
namespace {

// `waited_bytes` of the step's bytes are not read ahead, so that computing waits for them.
std::optional<ReadingReport::Source> source_of(const std::optional<double>& bytes_per_s,
                                               const ReadingReport& report, uint64_t waited_bytes) {
  if (!bytes_per_s) return std::nullopt;
  const double reading_s = static_cast<double>(report.bytes_per_step) / *bytes_per_s;
  const double waited_s = static_cast<double>(waited_bytes) / *bytes_per_s;
  const double hidden_s = report.compute_s_per_step;
  return ReadingReport::Source{
      .bytes_per_s = *bytes_per_s,
      .s_per_step = reading_s,
      .cost_s_per_step = waited_s + std::max(0.0, reading_s - waited_s - hidden_s)};
}

}  // namespace

ReadingReport reading_cost(const PlanningFacts& facts, const RunMemoryPlan& plan, uint64_t steps,
                           const io::ReadRates& rates, double products_per_s) {
  ReadingReport report{.cached_share = rates.cached_share, .note = rates.note};
  double products = 0;
  uint64_t waited_bytes = 0;
  for (const PlannedComponent& component : facts.components) {
    if (steps == 0 || component.calls < steps) continue;
    const Residency& residency = plan.components.at(component.name);
    const uint64_t moved = residency.moved_bytes() * component.calls / steps;
    report.bytes_per_step += moved;
    if (residency.prefetch == 0) waited_bytes += moved;
    products += component.products / static_cast<double>(steps);
  }
  report.compute_s_per_step = products_per_s > 0 ? products / products_per_s : 0;
  report.from_disk = source_of(rates.disk, report, waited_bytes);
  report.from_page_cache = source_of(rates.cached, report, waited_bytes);
  return report;
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
