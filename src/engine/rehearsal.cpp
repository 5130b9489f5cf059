#include "engine/rehearsal.hpp"

#include <algorithm>

#include "engine/executor.hpp"
#include "io/system_memory.hpp"
#include "pipeline/keys.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

std::string leaf_of(const std::string& parameter) {
  return parameter.substr(0, std::min(parameter.size(), parameter.rfind('.')));
}

// What the process takes in addition to tensors and weights, as measured over sizes and families.
// What kernels keep for themselves is bounded by their blocks, which fit the caches, and is never
// much more than a layer's tensors or its weights.
uint64_t scratch(const DryForward& call) {
  constexpr uint64_t most = uint64_t{64} << 20, least = uint64_t{2} << 20;
  uint64_t largest = 0;
  for (const DryUse& use : call.uses) {
    if (use.param.shape.size() < 2 || use.op == ops::Embedding::name) continue;
    uint64_t bytes = sizeof(float);
    for (int64_t size : use.param.shape) bytes *= static_cast<uint64_t>(size);
    largest = std::max(largest, bytes);
  }
  return std::min(most, least + std::min<uint64_t>(largest, call.peak_bytes));
}
// The arena holds other tensors than a dry forward's when a call begins, so its gaps differ.
uint64_t gaps(const DryForward& call) {
  return call.reach_bytes / 8;
}
// Of libraries' code and the C library's heap.
constexpr uint64_t growth_of_process = uint64_t{14} << 20;

// Forms that take the file's place are made one after the other.
uint64_t bytes_whole(const std::vector<ParamUse>& uses) {
  uint64_t all = 0, largest = 0;
  for (const ParamUse& use : uses) {
    all += use.bytes;
    largest = std::max(largest, use.made_of);
  }
  return all + largest;
}

// What a component keeps between its calls: what it makes once per run, and for each row the
// features that steps share.
class KeptBetweenCalls {
 public:
  void note(const DryForward& call, const RowIds& rows) {
    constants_ = std::max<uint64_t>(constants_, call.kept_bytes);
    if (call.feature_bytes == 0) return;
    const uint64_t of_row = (call.feature_bytes + rows.size() - 1) / rows.size();
    for (const RowId& row : rows) features_[row] = std::max(features_[row], of_row);
  }
  // Features are dropped with the loop whose steps share them.
  void end_loop() { features_.clear(); }
  uint64_t bytes() const {
    uint64_t bytes = constants_;
    for (const auto& [row, kept] : features_) bytes += kept;
    return bytes;
  }

 private:
  uint64_t constants_ = 0;
  std::map<RowId, uint64_t> features_;
};

class Rehearsal {
 public:
  Rehearsal(const Proposal& proposal, LoadedPipeline& pipeline)
      : proposal_(proposal),
        pipeline_(pipeline),
        levels_(pipeline, {.policy = proposal.levels()}) {}

  PlanningFacts run(Backend& backend, const CancelToken* cancel) {
    levels_.check();
    levels_.only_forecast([this](const std::string& name, const DryForward& call,
                                 const RowIds& rows) { note(name, call, rows); });
    MemoryAccount account;
    MemoryAccount::Scope charged(account);
    go_through(proposal_, pipeline_, levels_, backend, cancel,
               [this](size_t block, const std::function<void()>& turn) { around(block, turn); });
    for (auto& [name, component] : components_) facts_.components.push_back(std::move(component));
    return std::move(facts_);
  }

 private:
  // What a block does itself is a moment, too.
  void around(size_t block, const std::function<void()>& turn) {
    block_ = block;
    for (auto& [name, kept] : kept_) kept.end_loop();
    reset_tensor_peak();
    turn();
    add({}, tensor_memory().peak_bytes + kept_bytes() + scratch_);
  }

  void note(const std::string& name, const DryForward& call, const RowIds& rows) {
    PlannedComponent& component = component_of(name, call);
    component.first_block = std::min(component.first_block, block_);
    component.last_block = std::max(component.last_block, block_);
    component.calls += 1;
    component.products += call.products;
    // Until the run's end stays what is made once of its values, and what kernels took once.
    kept_[name].note(call, rows);
    uint64_t& most = facts_.kept_between_steps_bytes;
    most = std::max(most, kept_bytes());
    scratch_ = std::max(scratch_, scratch(call));
    add(name,
        tensor_memory().current_bytes + call.reach_bytes + gaps(call) + kept_bytes() + scratch_);
  }

  uint64_t kept_bytes() const {
    uint64_t bytes = 0;
    for (const auto& [name, kept] : kept_) bytes += kept.bytes();
    return bytes;
  }

  // The worst of each block and component.
  void add(const std::string& name, uint64_t tensors) {
    auto known = std::ranges::find_if(facts_.moments, [&](const PlannedMoment& moment) {
      return moment.block == block_ && moment.component == name;
    });
    if (known == facts_.moments.end()) {
      const Block& block = *proposal_.plan.blocks[block_];
      facts_.moments.push_back({block_, block.name(), name, tensors});
    } else {
      known->tensors = std::max(known->tensors, tensors);
    }
  }

  PlannedComponent& component_of(const std::string& name, const DryForward& call) {
    auto [it, fresh] = components_.try_emplace(name);
    PlannedComponent& component = it->second;
    if (fresh) component = {.name = name, .first_block = block_, .last_block = block_};
    // Calls of a component mostly use the same weights; what only a later one uses comes last.
    const ComputeForm& form = levels_.form(name);
    component.foreseen = levels_.level(name) != Level::eager;
    const LoadedComponent& loaded = *pipeline_.find(name);
    component.kept_dtype = loaded.kept_dtype;
    for (const DryUse& use : call.uses) {
      auto known = std::ranges::find(component.uses, use.param.index, &ParamUse::param);
      if (known != component.uses.end()) continue;
      component.uses.push_back(planned(use, *loaded.store->all().at(use.param.name), form));
    }
    component.bytes = bytes_whole(component.uses);
    return component;
  }

  static ParamUse planned(const DryUse& use, const Weight& weight, const ComputeForm& form) {
    ParamUse planned{use.param.index, leaf_of(use.param.name), use.segment,
                     Binding::bytes_in_memory(weight, form), use.param.shape.size() < 2};
    if (planned.bytes != weight.bytes) planned.made_of = weight.bytes;
    // Of a table that is read as it is stored, only the rows that are asked for come in.
    if (use.op != ops::Embedding::name) return planned;
    planned.stays = true;
    if (planned.bytes == weight.bytes) planned.bytes = 0;
    return planned;
  }

  const Proposal& proposal_;
  LoadedPipeline& pipeline_;
  LevelRuns levels_;
  PlanningFacts facts_;
  std::map<std::string, PlannedComponent> components_;
  std::map<std::string, KeptBetweenCalls> kept_;  // by component
  uint64_t scratch_ = 0;                          // of kernels, the most so far
  size_t block_ = 0;
};

}  // namespace

namespace {

// Without the weights of this pipeline that earlier runs have left in memory: they are planned.
uint64_t base_bytes(const LoadedPipeline& pipeline) {
  std::vector<const std::byte*> weights;
  uint64_t forms = 0;
  for (const auto& [name, component] : pipeline.components()) {
    if (!component->store) continue;
    forms += component->converted_bytes() + component->packed_bytes();
    for (const auto& [parameter, weight] : component->store->all()) weights.push_back(weight->data);
  }
  std::ranges::sort(weights);
  const uint64_t rest = io::resident_bytes(weights);
  return rest - std::min(rest, forms) + growth_of_process;
}

}  // namespace

PlanningFacts rehearse(const Proposal& proposal, LoadedPipeline& pipeline, Backend& backend,
                       const CancelToken* cancel) {
  PlanningFacts facts = Rehearsal(proposal, pipeline).run(backend, cancel);
  // After it, for libraries set themselves up when they are first used.
  return_freed_memory(0);
  facts.base_bytes = base_bytes(pipeline);
  facts.keeps_components = !proposal.config.get(keys::release_components);
  return facts;
}

}  // namespace omnirt
