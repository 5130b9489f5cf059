#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/offload.hpp"

namespace omnirt {

// What is in memory at one stage of a planned run.
struct PlannedStage {
  std::string block, component;  // the component that computes; "": none
  uint64_t tensor_bytes = 0;
  uint64_t weight_bytes = 0;
};

// The plan of one memory, the process's or a device's.
struct PlannedSpaceReport {
  std::optional<uint64_t> budget_bytes;
  uint64_t predicted_peak_bytes = 0;
  uint64_t base_bytes = 0;             // in use besides the run's weights and tensors
  std::string at_block, at_component;  // where the peak is
  std::vector<PlannedStage> stages{};
};

struct PlannedComponentReport {
  std::string name;
  Offload offload = Offload::automatic;
  uint64_t bytes = 0;           // of all weights
  std::string storage_dtype{};  // "": as stored
  uint64_t resident_bytes = 0;
  uint64_t moved_bytes_per_call = 0;
  size_t groups = 0;
  std::optional<int64_t> blocks_per_group{}, prefetch_groups{};
};

// What reading weights costs at each step.
struct ReadingReport {
  struct Source {
    double bytes_per_s = 0, s_per_step = 0;
    double cost_s_per_step = 0;  // what computing does not hide
  };
  uint64_t bytes_per_step = 0;
  double compute_s_per_step = 0;  // estimated: the products of weights at a measured rate
  std::optional<Source> from_disk{}, from_page_cache{};
  double cached_share = 0;  // of the file that is in the page cache
  std::string note{};       // how the disk was measured, or why not
};

// A run's memory plan (docs/memory.md).
struct MemoryPlanReport : PlannedSpaceReport {
  Offload offload = Offload::automatic;
  uint64_t kept_between_steps_bytes = 0;
  std::vector<PlannedComponentReport> components{};
  std::string device{};  // whose memory it is, "cuda:1"; "": the process's
  uint64_t moved_bytes_per_step = 0;
  std::optional<PlannedSpaceReport> process{};  // next to a device's
  std::optional<ReadingReport> reading{};       // if groups of weights are read from files
  std::vector<MemoryPlanReport> others{};       // of the run's other devices, and of the process
};

Json to_json(const ReadingReport& reading);
Json to_json(const MemoryPlanReport& plan);

}  // namespace omnirt
