#include "engine/rehearsal.hpp"

#include <algorithm>

#include "engine/executor.hpp"
#include "io/system_memory.hpp"
#include "pipeline/keys.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

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

// What a component's calls were given and keep on the device: inputs that live as long as the run
// travel once.
class MovedInputs {
 public:
  // What the inputs of this call take there, those of earlier calls included; `there` says which
  // tensors are on the device already.
  uint64_t note(const std::string& component, const Values& inputs, const MemoryAccount& there) {
    uint64_t of_step = 0;
    for (const auto& [name, list] : inputs) {
      for (const Value& value : list) {
        const bool moves = value.defined() && !there.holds(value.tensor());
        const uint64_t bytes = moves ? value.tensor().nbytes() : 0;
        if (value.life() == Life::run)
          of_run_[{component, value.id()}] = bytes;
        else
          of_step += bytes;
      }
    }
    return of_step + bytes();
  }
  uint64_t bytes() const {
    uint64_t all = 0;
    for (const auto& [value, bytes] : of_run_) all += bytes;
    return all;
  }

 private:
  std::map<std::pair<std::string, uint64_t>, uint64_t> of_run_;
};

class Rehearsal {
 public:
  Rehearsal(const Proposal& proposal, LoadedPipeline& pipeline, bool on_device)
      : proposal_(proposal),
        pipeline_(pipeline),
        on_device_(on_device),
        levels_(pipeline, {.policy = proposal.levels()}) {}

  Rehearsed run(Backend& backend, const CancelToken* cancel) {
    levels_.check();
    levels_.only_forecast([this](const LevelRuns::Forecast& call) { note(call); },
                          on_device_ ? device_ : process_);
    MemoryAccount::Scope charged(process_);
    go_through(proposal_, pipeline_, levels_, backend, cancel,
               [this](size_t block, const std::function<void()>& turn) { around(block, turn); });
    Rehearsed made{.weights = std::move(facts_)};
    for (auto& [name, component] : components_)
      made.weights.components.push_back(std::move(component));
    if (on_device_) made.host = std::move(of_host_);
    return made;
  }

 private:
  // What a block does itself is a moment, too.
  void around(size_t block, const std::function<void()>& turn) {
    block_ = block;
    for (auto& [name, kept] : kept_) kept.end_loop();
    process_.reset_peak();
    device_.reset_peak();
    turn();
    if (on_device_) {
      add(of_host_, {}, process_.memory().peak_bytes);
      add(facts_, {}, device_.memory().peak_bytes + moved_.bytes() + kept_bytes());
    } else {
      add(facts_, {}, process_.memory().peak_bytes + kept_bytes() + scratch_);
    }
  }

  void note(const LevelRuns::Forecast& made) {
    const DryForward& call = made.call;
    PlannedComponent& component = component_of(made.component, call);
    component.first_block = std::min(component.first_block, block_);
    component.last_block = std::max(component.last_block, block_);
    component.calls += 1;
    component.products += call.products;
    // Until the run's end stays what is made once of its values, and what kernels took once.
    kept_[made.component].note(call, made.rows);
    uint64_t& most = facts_.kept_between_steps_bytes;
    most = std::max(most, kept_bytes());
    if (on_device_) {
      const uint64_t inputs = moved_.note(made.component, made.inputs, device_);
      add(facts_, made.component,
          device_.memory().current_bytes + inputs + call.reach_bytes + kept_bytes());
      return;
    }
    scratch_ = std::max(scratch_, scratch(call));
    add(facts_, made.component,
        process_.memory().current_bytes + call.reach_bytes + gaps(call) + kept_bytes() + scratch_);
  }

  uint64_t kept_bytes() const {
    uint64_t bytes = 0;
    for (const auto& [name, kept] : kept_) bytes += kept.bytes();
    return bytes;
  }

  // The worst of each block and component.
  void add(PlanningFacts& facts, const std::string& name, uint64_t tensors) const {
    auto known = std::ranges::find_if(facts.moments, [&](const PlannedMoment& moment) {
      return moment.block == block_ && moment.component == name;
    });
    if (known == facts.moments.end()) {
      const Block& block = *proposal_.plan.blocks[block_];
      facts.moments.push_back({block_, block.name(), name, tensors});
    } else {
      known->tensors = std::max(known->tensors, tensors);
    }
  }

  PlannedComponent& component_of(const std::string& name, const DryForward& call) {
    auto [it, fresh] = components_.try_emplace(name);
    PlannedComponent& component = it->second;
    const LoadedComponent& loaded = *pipeline_.find(name);
    if (fresh) {
      component = {.name = name, .first_block = block_, .last_block = block_};
      if (on_device_) component.uses = beside(name);
    }
    // Calls of a component mostly use the same weights; what only a later one uses comes last.
    const ComputeForm& form = levels_.form(name);
    component.foreseen = levels_.level(name) != Level::eager;
    component.kept_dtype = loaded.kept_dtype;
    const WeightPlace place = on_device_ ? WeightPlace::device : WeightPlace::host;
    for (ParamUse& use : param_uses(call, *loaded.store, form, place)) {
      auto known = std::ranges::find(component.uses, use.param, &ParamUse::param);
      if (known == component.uses.end()) component.uses.push_back(std::move(use));
    }
    component.bytes = bytes_whole(component.uses);
    return component;
  }

  // Terms that adapters add next to weights: on a device they have copies.
  std::vector<ParamUse> beside(const std::string& name) const {
    const auto overlay = pipeline_.overlay(name);
    if (!overlay) return {};
    ParamUse all{.param = SIZE_MAX, .layer = "adapters", .stays = true};
    for (const auto& [param, terms] : overlay->beside) {
      for (const SideTerm& term : terms) all.bytes += term.down.nbytes() + term.up.nbytes();
    }
    return {all};
  }

  const Proposal& proposal_;
  LoadedPipeline& pipeline_;
  const bool on_device_;
  MemoryAccount process_, device_;  // of blocks and, where they are on a device, calls' results
  LevelRuns levels_;
  PlanningFacts facts_, of_host_;
  MovedInputs moved_;
  std::map<std::string, PlannedComponent> components_;
  std::map<std::string, KeptBetweenCalls> kept_;  // by component
  uint64_t scratch_ = 0;                          // of kernels, the most so far
  size_t block_ = 0;
};

}  // namespace

namespace {

// Without the weights of this pipeline that earlier runs have left in memory: they are planned.
// `forms`: bytes of these that are not the files' own.
uint64_t base_bytes(const LoadedPipeline& pipeline, uint64_t forms) {
  std::vector<const std::byte*> weights;
  for (const auto& [name, component] : pipeline.components()) {
    if (!component->store) continue;
    // What was made of a file's numbers lies in the heap, between all else, and stays.
    for (const auto& [parameter, weight] : component->store->all()) {
      if (weight->release) weights.push_back(weight->data);
    }
  }
  std::ranges::sort(weights);
  const uint64_t rest = io::resident_bytes(weights);
  return rest - std::min(rest, forms) + growth_of_process;
}

// Of a process whose weights are on a device: one is in its file's pages, and its numbers on their
// way through two buffers.
uint64_t in_transit(const PlanningFacts& on_device) {
  uint64_t largest = 0;
  for (const PlannedComponent& component : on_device.components) {
    for (const ParamUse& use : component.uses) largest = std::max(largest, use.bytes);
  }
  return 3 * largest;
}

uint64_t base_of_device(Backend& backend, const LoadedPipeline& pipeline) {
  const uint64_t taken = backend.memory_stats().allocated_bytes;
  return taken - std::min(taken, held_forms(pipeline)) + backend.device_memory()->library_bytes();
}

}  // namespace

uint64_t held_forms(const LoadedPipeline& pipeline) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components())
    bytes += component->converted_bytes() + component->packed_bytes();
  return bytes;
}

Rehearsed rehearse(const Proposal& proposal, LoadedPipeline& pipeline, Backend& backend,
                   const CancelToken* cancel) {
  const bool on_device = backend.capabilities().plans_memory == PlannedSpace::device;
  Rehearsed made = Rehearsal(proposal, pipeline, on_device).run(backend, cancel);
  // After it, for libraries set themselves up when they are first used.
  return_freed_memory(0);
  const uint64_t forms = held_forms(pipeline);
  made.weights.keeps_components = !proposal.config.get(keys::release_components);
  if (on_device) {
    made.weights.base_bytes = base_of_device(backend, pipeline);
    made.host->base_bytes = base_bytes(pipeline, 0) + in_transit(made.weights);
  } else {
    made.weights.base_bytes = base_bytes(pipeline, forms);
  }
  return made;
}

}  // namespace omnirt
