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

// What a run takes of one space, in the making.
struct Taken {
  MemoryAccount account;  // of blocks in the process; on a device, of calls' results
  MovedInputs moved;      // to a device
  PlanningFacts facts;
  std::map<std::string, PlannedComponent> components;
  std::map<std::string, KeptBetweenCalls> kept;  // by component

  uint64_t kept_bytes() const {
    uint64_t bytes = 0;
    for (const auto& [name, each] : kept) bytes += each.bytes();
    return bytes;
  }
};

class Rehearsal {
 public:
  Rehearsal(const Proposal& proposal, LoadedPipeline& pipeline)
      : proposal_(proposal), pipeline_(pipeline), levels_(pipeline, {.policy = proposal.levels()}) {
    for (const auto& [name, component] : pipeline.components()) {
      if (component->network) spaces_.try_emplace(space_of(*component));
    }
  }

  Rehearsed run(const CancelToken* cancel) {
    levels_.check();
    levels_.only_forecast([this](const LevelRuns::Forecast& call) { note(call); },
                          [this](const std::string& component) -> const MemoryAccount& {
                            return space_of_component(component).account;
                          });
    MemoryAccount::Scope charged(process_.account);
    go_through(proposal_, pipeline_, levels_, cancel,
               [this](size_t block, const std::function<void()>& turn) { around(block, turn); });
    Rehearsed made;
    for (auto& [space, taken] : spaces_) {
      for (auto& [name, component] : taken.components)
        taken.facts.components.push_back(std::move(component));
      made[space] = std::move(taken.facts);
    }
    return made;
  }

 private:
  Taken& space_of_component(const std::string& name) {
    return spaces_.at(space_of(*pipeline_.find(name)));
  }

  // What a block does itself is a moment, too.
  void around(size_t block, const std::function<void()>& turn) {
    block_ = block;
    for (auto& [space, taken] : spaces_) {
      for (auto& [name, kept] : taken.kept) kept.end_loop();
      taken.account.reset_peak();
    }
    turn();
    for (auto& [space, taken] : spaces_)
      add(taken.facts, {},
          taken.account.memory().peak_bytes + taken.kept_bytes() +
              (space ? taken.moved.bytes() : scratch_));
  }

  void note(const LevelRuns::Forecast& made) {
    const DryForward& call = made.call;
    const Space space = space_of(*pipeline_.find(made.component));
    Taken& taken = spaces_.at(space);
    PlannedComponent& component = component_of(taken, made.component, call);
    component.first_block = std::min(component.first_block, block_);
    component.last_block = std::max(component.last_block, block_);
    component.calls += 1;
    component.products += call.products;
    // Until the run's end stays what is made once of its values, and what kernels took once.
    taken.kept[made.component].note(call, made.rows);
    const uint64_t kept = taken.kept_bytes();
    uint64_t& most = taken.facts.kept_between_steps_bytes;
    most = std::max(most, kept);
    uint64_t of_call = call.reach_bytes;
    if (space) {
      of_call += taken.moved.note(made.component, made.inputs, taken.account);
    } else {
      scratch_ = std::max(scratch_, scratch(call));
      of_call += gaps(call) + scratch_;
    }
    add(taken.facts, made.component, taken.account.memory().current_bytes + of_call + kept);
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

  PlannedComponent& component_of(Taken& taken, const std::string& name, const DryForward& call) {
    auto [it, fresh] = taken.components.try_emplace(name);
    PlannedComponent& component = it->second;
    const LoadedComponent& loaded = *pipeline_.find(name);
    const bool on_device = space_of(loaded).has_value();
    if (fresh) {
      component = {.name = name, .first_block = block_, .last_block = block_};
      if (on_device) component.uses = beside(name);
    }
    // Calls of a component mostly use the same weights; what only a later one uses comes last.
    const ComputeForm& form = levels_.form(name);
    component.foreseen = levels_.level(name) != Level::eager;
    component.kept_dtype = loaded.kept_dtype;
    const WeightPlace place = on_device ? WeightPlace::device : WeightPlace::host;
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
  LevelRuns levels_;
  std::map<Space, Taken> spaces_;
  Taken& process_ = spaces_[std::nullopt];
  uint64_t scratch_ = 0;  // of kernels in the process, the most so far
  size_t block_ = 0;
};

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

// In a process that copies weights to a device: one is in its file's pages, and its numbers on
// their way through two buffers.
uint64_t in_transit(const PlanningFacts& on_device) {
  uint64_t largest = 0;
  for (const PlannedComponent& component : on_device.components) {
    for (const ParamUse& use : component.uses) largest = std::max(largest, use.bytes);
  }
  return 3 * largest;
}

uint64_t base_of_device(const DeviceId& device, const LoadedPipeline& pipeline) {
  for (const auto& [name, component] : pipeline.components()) {
    if (!component->network || component->wrapped->backend().id() != device) continue;
    Backend& backend = component->wrapped->backend();
    const uint64_t taken = backend.memory_stats().allocated_bytes;
    return taken - std::min(taken, held_forms(pipeline, device)) +
           backend.device_memory()->library_bytes();
  }
  return 0;
}

}  // namespace

Space space_of(const LoadedComponent& component) {
  const Backend& backend = component.wrapped->backend();
  const bool own = backend.capabilities().plans_memory == PlannedSpace::device;
  return own ? Space(backend.id()) : std::nullopt;
}

uint64_t held_forms(const LoadedPipeline& pipeline, const Space& space) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components()) {
    if (component->network && space_of(*component) == space)
      bytes += component->converted_bytes() + component->packed_bytes();
  }
  return bytes;
}

Rehearsed rehearse(const Proposal& proposal, LoadedPipeline& pipeline, const CancelToken* cancel) {
  Rehearsed made = Rehearsal(proposal, pipeline).run(cancel);
  // After it, for libraries set themselves up when they are first used.
  return_freed_memory(0);
  uint64_t on_their_way = 0;
  for (auto& [space, facts] : made) {
    facts.keeps_components = !proposal.config.get(keys::release_components);
    if (!space) continue;
    facts.base_bytes = base_of_device(*space, pipeline);
    on_their_way += in_transit(facts);
  }
  made[std::nullopt].base_bytes =
      base_bytes(pipeline, held_forms(pipeline, std::nullopt)) + on_their_way;
  return made;
}

}  // namespace omnirt
