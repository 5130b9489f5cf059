#pragma once
#include "base/json.hpp"
#include "engine/memory_plan.hpp"
#include "io/read_rates.hpp"
#include "ops/op_table.hpp"
#include "runtime/binding.hpp"

namespace omnirt {

// What a plan reads at each step of its loop, and whether computing hides it: the next group of
// weights is read while one is computed with.
struct ReadingCost {
  uint64_t bytes_per_step = 0;  // of weights that come and go
  uint64_t waited_bytes = 0;    // of these: none is read ahead, so that computing waits for them
  double compute_s = 0;         // of a step, estimated: the products of weights at a measured rate
  std::optional<double> disk_s, cached_s;  // reading them, from the disk and from the page cache

  // What a step takes longer than without reading, where reading takes this long; 0: expected to be
  // hidden.
  double cost_s(double reading_s) const;
  // {bytes_per_step, compute_s_per_step, from_disk: {bytes_per_s, s_per_step, cost_s_per_step} or
  // null, from_page_cache: likewise, cached_share, note}
  Json to_json(const io::ReadRates& rates) const;
};

// Of the components that are called at least once a step. `products_per_s`: the rate of computing.
ReadingCost reading_cost(const PlanningFacts& facts, const RunMemoryPlan& plan, uint64_t steps,
                         const io::ReadRates& rates, double products_per_s);

// Products per second of a linear layer of the size of a transformer's, by the kernels of `ops`
// over fp16 weights: a few calls, of which the fastest counts. `now` is in milliseconds.
double measured_products(const ops::OpTable& ops, const ComputeForm& form,
                         const std::function<double()>& now);

}  // namespace omnirt
