#include "engine/run_devices.hpp"

#include "base/byte_size.hpp"
#include "io/system_memory.hpp"
#include "pipeline/memory_keys.hpp"

namespace omnirt {

// The budget bounds what the process takes of a device while a run has it to itself: a run that
// joins it ends that.
RunDevices::RunDevices(const Proposal& proposal, const std::vector<EngineDevice*>& devices) {
  const auto given = proposal.config.maybe(keys::device_memory_budget);
  const std::optional<uint64_t> budget = given ? parse_byte_size(*given) : std::nullopt;
  for (EngineDevice* device : devices) {
    Used& used = *devices_.emplace_back(std::make_unique<Used>(*device));
    const bool alone = used.turn.alone();
    if (alone) used.backend.reset_memory_stats();
    if (DeviceMemory* memory = used.backend.device_memory())
      memory->limit(alone ? budget : std::nullopt);
  }
}

RunDevices::~RunDevices() {
  for (const auto& used : devices_) {
    if (DeviceMemory* memory = used->backend.device_memory()) memory->limit(std::nullopt);
  }
}

DeviceMemoryReport RunDevices::figures_of(const Used& used) const {
  DeviceMemoryReport made{.device = used.backend.id().text(), .available_gb = used.available_gb};
  const MemoryStats memory = used.backend.memory_stats();
  if (memory.per_run || used.turn.alone()) {
    made.tensor_peak_bytes = memory.peak_bytes;
    made.tensor_current_bytes = memory.allocated_bytes;
  } else {
    made.process_tensor_peak_bytes = memory.peak_bytes;
  }
  return made;
}

void RunDevices::report_memory(RunReport& report) const {
  MemoryReport& memory = report.memory;
  memory.devices.clear();
  memory.kernel_scratch_bytes = 0;
  for (const auto& used : devices_) {
    memory.devices.push_back(figures_of(*used));
    memory.kernel_scratch_bytes += used->backend.memory_stats().scratch_bytes;
  }
  const DeviceMemoryReport& own = memory.devices.front();
  memory.available_gb = own.available_gb;
  memory.tensor_peak_bytes = own.tensor_peak_bytes;
  memory.tensor_current_bytes = own.tensor_current_bytes;
  memory.process_tensor_peak_bytes = own.process_tensor_peak_bytes;
  memory.peak_rss_bytes = io::peak_resident_bytes();
}

}  // namespace omnirt
