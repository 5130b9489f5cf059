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

Json component_json(const PlannedComponent& component, const Residency& residency) {
  Json json = {{"name", component.name},
               {"offload", name_of(residency.offload)},
               {"bytes", component.bytes},
               {"storage_dtype", nullptr},
               {"resident_bytes", residency.peak_bytes()},
               {"moved_bytes_per_call", residency.moved_bytes()},
               {"groups", residency.groups.size()},
               {"blocks_per_group", nullptr},
               {"prefetch_groups", nullptr}};
  if (!component.kept_dtype.empty()) json["storage_dtype"] = component.kept_dtype;
  if (residency.offload == Offload::group) json["blocks_per_group"] = residency.blocks_per_group;
  if (residency.groups.size() > 1) json["prefetch_groups"] = residency.prefetch;
  return json;
}

}  // namespace

Json RunMemoryPlan::to_json(const PlanningFacts& facts, const PlanningWishes& wishes) const {
  Json json = {{"budget_bytes", nullptr},
               {"offload", name_of(wishes.offload)},
               {"predicted_peak_bytes", peak_bytes},
               {"base_bytes", facts.base_bytes},
               {"at", {{"block", at.block_name}, {"component", at.component}}},
               {"kept_between_steps_bytes", facts.kept_between_steps_bytes},
               {"components", Json::array()},
               {"stages", Json::array()}};
  if (wishes.budget_bytes) json["budget_bytes"] = *wishes.budget_bytes;
  for (const PlannedComponent& component : facts.components)
    json["components"].push_back(component_json(component, components.at(component.name)));
  for (const PlannedMoment& moment : facts.moments) {
    uint64_t weights = 0;
    for (const PlannedComponent& component : facts.components) {
      const Residency& residency = components.at(component.name);
      const bool gone = residency.offload != Offload::none && moment.block > component.last_block;
      if (moment.block >= component.first_block && !gone) weights += residency.peak_bytes();
    }
    json["stages"].push_back({{"block", moment.block_name},
                              {"component", moment.component},
                              {"tensor_bytes", moment.tensors},
                              {"weight_bytes", weights}});
  }
  return json;
}

RunMemoryPlan plan_memory(const PlanningFacts& facts, const PlanningWishes& wishes) {
  return Planner(facts, wishes).plan();
}

}  // namespace omnirt
