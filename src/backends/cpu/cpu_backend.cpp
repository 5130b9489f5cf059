#include "backends/cpu/cpu_backend.hpp"

#include "base/error.hpp"
#include "io/system_memory.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

CpuBackend::CpuBackend() {
  watch_tensor_memory();
}

Availability CpuBackend::is_available() const noexcept {
  return {true, "a processor is always there"};
}

Capabilities CpuBackend::capabilities() const {
  return {{"fp32", "bf16"}, false, false};
}

LevelPlan CpuBackend::compile(const std::string& component, const std::string&, const PlanFacts&) {
  throw Unsupported(
      {"compile", component, "this build of the cpu backend has no compile level", ""});
}

void CpuBackend::reset_memory_stats() {
  reset_tensor_peak();
}

MemoryStats CpuBackend::memory_stats() const {
  TensorMemory memory = tensor_memory();
  return {memory.peak_bytes, memory.current_bytes};
}

double CpuBackend::available_memory_gb() const {
  return io::available_memory_gb();
}

}  // namespace omnirt
