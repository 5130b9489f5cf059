#include "runtime/dry_forward.hpp"

#include <ATen/ops/empty_strided.h>

#include "tensor/memory.hpp"

namespace omnirt {
namespace {

// The same sizes, strides and type, no storage.
Tensor without_storage(const Tensor& x) {
  return at::empty_strided(x.sizes(), x.strides(), x.options().device(at::kMeta));
}

bool multiplies(const std::string& op) {
  return op == ops::Linear::name || op == ops::GatedLinear::name || op == ops::Conv2d::name;
}

double elements(const std::vector<int64_t>& sizes) {
  double count = 1;
  for (int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}

// Each output takes a row of the matrix. Uses are first uses in the order of the ops, so a matrix
// that several ops take is counted with the first of them only.
double products_of(const std::vector<DryUse>& uses, const std::vector<OpRecord>& ops) {
  double sum = 0;
  auto use = uses.begin();
  for (const OpRecord& op : ops) {
    if (!multiplies(op.op)) continue;
    while (use != uses.end() && (!multiplies(use->op) || use->param.shape.size() < 2)) ++use;
    if (use == uses.end()) break;
    if (use->op != op.op) continue;
    const double rows = op.op == ops::GatedLinear::name ? 2 : 1;  // of the matrix, for an output
    sum += rows * elements(op.output) * elements(use->param.shape) /
           static_cast<double>(use->param.shape.front());
    ++use;
  }
  return sum;
}

}  // namespace

DryForward dry_forward(const ops::OpTable& ops, const ComputeForm& form, const ComponentCall& call,
                       const Values& inputs, const KeptBefore& kept) {
  Values dry;
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list)
      dry[name].push_back(value.placed(without_storage(value.tensor())));
  }
  DryForward made;
  MemoryPlan plan;
  auto nothing =
      std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{}, form);
  std::vector<OpRecord> called;
  Context cx(ops, nothing,
             {.dry = true,
              .constants_kept = kept.constants,
              .features_kept = kept.features,
              .trace = &called,
              .uses = &made.uses});
  Values results = call.run(cx, dry);
  made.peak_bytes = plan.blocks().peak();
  made.reach_bytes = plan.blocks().reach();
  // Tensors of the results count until here; their shapes are all that is wanted of them.
  for (const auto& [name, list] : results) {
    MemoryPlan::Pause apart;
    for (const Value& value : list)
      made.results[name].push_back(value.placed(without_storage(value.tensor())));
  }
  results.clear();
  dry.clear();
  made.feature_bytes = cx.feature_bytes();
  made.kept_bytes = plan.blocks().live();
  made.products = products_of(made.uses, called);
  return made;
}

}  // namespace omnirt
