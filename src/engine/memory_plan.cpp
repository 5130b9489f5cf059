#include "engine/memory_plan.hpp"

#include <algorithm>

namespace omnirt {
namespace {

// How one component may be kept, from what moves least to what takes least.
struct Notch {
  Offload offload = Offload::none;
  int64_t blocks_per_group = 0;
  int64_t prefetch = 1;
};

int64_t blocks_of(const PlannedComponent& component) {
  return static_cast<int64_t>(cut_into_groups(component.uses, Offload::group, 1).groups.size());
}

// Where nothing is cut, all of it counts as staying.
Residency residency_of(const PlannedComponent& component, const Notch& notch) {
  Residency made = cut_into_groups(component.uses, notch.offload, notch.blocks_per_group);
  made.prefetch = notch.prefetch;
  if (made.groups.size() > 1) return made;
  return {.offload = std::min(notch.offload, Offload::component), .stays_bytes = component.bytes};
}

class Planner {
 public:
  Planner(const PlanningFacts& facts, const PlanningWishes& wishes)
      : facts_(facts), wishes_(wishes) {
    for (const PlannedComponent& component : facts.components) {
      ladders_[component.name] = ladder_of(component);
      take(component, 0);
    }
  }

  RunMemoryPlan plan() {
    measure();
    while (wishes_.budget_bytes && plan_.peak_bytes > *wishes_.budget_bytes && step_down())
      measure();
    plan_.fits = !wishes_.budget_bytes || plan_.peak_bytes <= *wishes_.budget_bytes;
    for (const auto& [name, residency] : plan_.components)
      plan_.releases_components |= residency.offload != Offload::none;
    return plan_;
  }

 private:
  std::vector<Notch> ladder_of(const PlannedComponent& component) const {
    const bool free = wishes_.offload == Offload::automatic;
    auto wanted = [&](Offload offload) { return free || wishes_.offload == offload; };
    std::vector<Notch> ladder;
    if (wanted(Offload::none) && facts_.keeps_components) ladder.push_back({Offload::none});
    if (wanted(Offload::none) && !free && !facts_.keeps_components)
      ladder.push_back({Offload::none});
    if (wanted(Offload::component)) ladder.push_back({Offload::component});
    if (wanted(Offload::group)) add_groups(component, ladder);
    if (wanted(Offload::leaf)) ladder.push_back({Offload::leaf, 0, wishes_.prefetch.value_or(1)});
    // At last nothing comes in ahead.
    const bool groups =
        ladder.back().offload == Offload::group || ladder.back().offload == Offload::leaf;
    if (groups && !wishes_.prefetch)
      ladder.push_back({ladder.back().offload, ladder.back().blocks_per_group, 0});
    return ladder;
  }

  void add_groups(const PlannedComponent& component, std::vector<Notch>& ladder) const {
    const int64_t ahead = wishes_.prefetch.value_or(1);
    if (wishes_.blocks_per_group)
      return ladder.push_back({Offload::group, *wishes_.blocks_per_group, ahead});
    for (int64_t blocks = (blocks_of(component) + 2) / 3; blocks > 0;
         blocks = blocks == 1 ? 0 : std::max<int64_t>(1, blocks * 3 / 4))
      ladder.push_back({Offload::group, blocks, ahead});
  }

  void take(const PlannedComponent& component, size_t notch) {
    at_[component.name] = notch;
    plan_.components[component.name] = residency_of(component, ladders_.at(component.name)[notch]);
  }

  bool is_there(const PlannedComponent& component, size_t block) const {
    const Residency& residency = plan_.components.at(component.name);
    if (block < component.first_block) return false;
    return residency.offload == Offload::none || block <= component.last_block;
  }

  uint64_t bytes_at(const PlannedMoment& moment) const {
    uint64_t bytes = facts_.base_bytes + moment.tensors;
    for (const PlannedComponent& component : facts_.components) {
      if (is_there(component, moment.block))
        bytes += plan_.components.at(component.name).peak_bytes();
    }
    return bytes;
  }

  void measure() {
    plan_.peak_bytes = 0;
    for (const PlannedMoment& moment : facts_.moments) {
      const uint64_t bytes = bytes_at(moment);
      if (bytes <= plan_.peak_bytes) continue;
      plan_.peak_bytes = bytes;
      plan_.at = moment;
    }
  }

  // Of the networks that are there at the worst moment, the largest is offloaded further.
  bool step_down() {
    const PlannedComponent* largest = nullptr;
    uint64_t most = 0;
    for (const PlannedComponent& component : facts_.components) {
      const bool last = at_.at(component.name) + 1 == ladders_.at(component.name).size();
      const uint64_t bytes = plan_.components.at(component.name).peak_bytes();
      if (last || !is_there(component, plan_.at.block) || bytes < most) continue;
      most = bytes;
      largest = &component;
    }
    if (largest) take(*largest, at_.at(largest->name) + 1);
    return largest != nullptr;
  }

  const PlanningFacts& facts_;
  const PlanningWishes& wishes_;
  std::map<std::string, std::vector<Notch>> ladders_;
  std::map<std::string, size_t> at_;
  RunMemoryPlan plan_;
};

// The weights that are there at a moment.
uint64_t weights_at(const PlannedMoment& moment, const RunMemoryPlan& plan,
                    const PlanningFacts& facts) {
  uint64_t weights = 0;
  for (const PlannedComponent& component : facts.components) {
    const Residency& residency = plan.components.at(component.name);
    const bool gone = residency.offload != Offload::none && moment.block > component.last_block;
    if (moment.block >= component.first_block && !gone) weights += residency.peak_bytes();
  }
  return weights;
}

}  // namespace

PlannedSpaceReport space_report(const RunMemoryPlan& plan, const PlanningFacts& facts,
                                std::optional<uint64_t> budget_bytes) {
  PlannedSpaceReport report{.budget_bytes = budget_bytes,
                            .predicted_peak_bytes = plan.peak_bytes,
                            .base_bytes = facts.base_bytes,
                            .at_block = plan.at.block_name,
                            .at_component = plan.at.component};
  for (const PlannedMoment& moment : facts.moments) {
    report.stages.push_back({.block = moment.block_name,
                             .component = moment.component,
                             .tensor_bytes = moment.tensors,
                             .weight_bytes = weights_at(moment, plan, facts)});
  }
  return report;
}

std::vector<PlannedComponentReport> component_reports(const RunMemoryPlan& plan,
                                                      const PlanningFacts& facts) {
  std::vector<PlannedComponentReport> reports;
  for (const PlannedComponent& component : facts.components) {
    const Residency& residency = plan.components.at(component.name);
    PlannedComponentReport report{.name = component.name,
                                  .offload = residency.offload,
                                  .bytes = component.bytes,
                                  .storage_dtype = component.kept_dtype,
                                  .resident_bytes = residency.peak_bytes(),
                                  .moved_bytes_per_call = residency.moved_bytes(),
                                  .groups = residency.groups.size()};
    if (residency.offload == Offload::group) report.blocks_per_group = residency.blocks_per_group;
    if (residency.groups.size() > 1) report.prefetch_groups = residency.prefetch;
    reports.push_back(std::move(report));
  }
  return reports;
}

RunMemoryPlan plan_memory(const PlanningFacts& facts, const PlanningWishes& wishes) {
  return Planner(facts, wishes).plan();
}

}  // namespace omnirt
