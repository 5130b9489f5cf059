#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/plan_report.hpp"
#include "runtime/residency.hpp"

// What is in memory when: settled before a run begins, from what its calls will take. Plain
// arithmetic over figures that others measured (engine/rehearsal.hpp).
namespace omnirt {

// A network of the run.
struct PlannedComponent {
  std::string name;
  std::string kept_dtype{};      // of its layers' weights, where storage_dtype says it; else ""
  bool foreseen = true;          // whether its level's tensors are known beforehand: not of eager
  uint64_t bytes = 0;            // all of its weights in memory
  std::vector<ParamUse> uses{};  // of one call, in order
  size_t first_block = 0, last_block = 0;  // of the workflow, that call it
  uint64_t calls = 0;                      // of the run
  double products = 0;                     // DryForward::products of all calls
};

// A moment of the run at which memory is at its most: a call of a network, or a block without one.
struct PlannedMoment {
  size_t block = 0;
  std::string block_name;
  std::string component;  // that computes; "": none
  uint64_t tensors = 0;   // bytes of the tensors that are there, weights apart
};

struct PlanningFacts {
  uint64_t base_bytes = 0;  // that is taken without weights and tensors of the run
  std::vector<PlannedComponent> components;
  std::vector<PlannedMoment> moments;
  uint64_t kept_between_steps_bytes = 0;  // the most; a part of the moments' tensors
  // Whether components stay after their last use, for the next run.
  bool keeps_components = false;
};

struct PlanningWishes {
  std::optional<uint64_t> budget_bytes{};
  Offload offload = Offload::automatic;
  std::optional<int64_t> blocks_per_group{};  // of Offload::group; nothing: as many as fit
  std::optional<int64_t> prefetch{};          // groups ahead; nothing: 1, or 0 where that fits
};

struct RunMemoryPlan {
  std::map<std::string, Residency> components;
  uint64_t peak_bytes = 0;  // predicted
  PlannedMoment at;         // when
  bool fits = true;         // in the budget
  bool releases_components = false;
};

// The plan that moves least among those that fit; where none does, the one that takes least
// (`fits` is false then). An offload other than automatic holds for every network.
RunMemoryPlan plan_memory(const PlanningFacts& facts, const PlanningWishes& wishes);

PlannedSpaceReport space_report(const RunMemoryPlan& plan, const PlanningFacts& facts,
                                std::optional<uint64_t> budget_bytes);
std::vector<PlannedComponentReport> component_reports(const RunMemoryPlan& plan,
                                                      const PlanningFacts& facts);

}  // namespace omnirt
