#include "runtime/dry_forward.hpp"

#include <ATen/ops/empty_strided.h>

#include "tensor/memory.hpp"

namespace omnirt {
namespace {

// The same sizes, strides and type, no storage.
Tensor without_storage(const Tensor& x) {
  return at::empty_strided(x.sizes(), x.strides(), x.options().device(at::kMeta));
}

}  // namespace

DryForward dry_forward(const ops::OpTable& ops, const ComputeForm& form, const ComponentCall& call,
                       const Values& inputs, bool constants_kept) {
  Values dry;
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list)
      dry[name].push_back(value.placed(without_storage(value.tensor())));
  }
  DryForward made;
  MemoryPlan plan;
  auto nothing =
      std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{}, form);
  Context cx(ops, nothing, {.dry = true, .constants_kept = constants_kept, .uses = &made.uses});
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
  made.kept_bytes = plan.blocks().live();
  return made;
}

}  // namespace omnirt
