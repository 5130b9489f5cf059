#pragma once
#include "engine/memory_plan.hpp"
#include "io/read_rates.hpp"
#include "ops/op_table.hpp"
#include "runtime/binding.hpp"

namespace omnirt {

// What a plan reads at each step of its loop, and whether computing hides it: the next group of
// weights is read while one is computed with. Of the components that are called at least once a
// step. `products_per_s`: the rate of computing.
ReadingReport reading_cost(const PlanningFacts& facts, const RunMemoryPlan& plan, uint64_t steps,
                           const io::ReadRates& rates, double products_per_s);

// Products per second of a linear layer of the size of a transformer's, by the kernels of `ops`
// over fp16 weights: a few calls, of which the fastest counts. `now` is in milliseconds.
double measured_products(const ops::OpTable& ops, const ComputeForm& form,
                         const std::function<double()>& now);

}  // namespace omnirt
