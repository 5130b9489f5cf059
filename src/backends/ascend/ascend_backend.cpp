#include "backends/ascend/ascend_backend.hpp"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "backends/ascend/plugin.hpp"
#include "runtime/capture_runner.hpp"

namespace omnirt {
namespace {

constexpr auto all_pools = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

// Null where the plug-in's allocator reports no figures.
c10::DeviceAllocator* allocator() {
  return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(at::kPrivateUse1));
}

// A graph of the plug-in, by its C entry points.
class PluginGraph final : public Graph {
 public:
  PluginGraph(const ascend::GraphEntries& entries, int device)
      : entries_(entries), graph_(entries.create(device)) {
    if (!graph_) fail("create");
  }
  ~PluginGraph() override {
    if (graph_) entries_.destroy(graph_);
  }
  PluginGraph(const PluginGraph&) = delete;
  PluginGraph& operator=(const PluginGraph&) = delete;

  void capture(const std::function<void()>& work) override {
    if (entries_.begin(graph_) != 0) fail("begin");
    try {
      work();
    } catch (...) {
      entries_.end(graph_);  // so that the device can be used again; the first error is reported
      throw;
    }
    if (entries_.end(graph_) != 0) fail("end");
  }
  void replay() override {
    if (entries_.replay(graph_) != 0) fail("replay");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    const char* why = entries_.error();
    throw LevelFailed(std::string("graph mode, ") + what + ": " + (why ? why : "no reason given"));
  }

  const ascend::GraphEntries& entries_;
  void* graph_;
};

bool graph_mode() {
  const ascend::GraphEntries& graph = ascend::plugin().graph;
  return graph.complete() && graph.supported() == 1;
}

}  // namespace

Availability AscendBackend::is_available() const noexcept {
  const ascend::Plugin& plugin = ascend::plugin();
  if (!plugin.loaded) {
    return {false, plugin.reason,
            "install the torch_npu of this libtorch's version, or name its library in "
            "OMNIRT_ASCEND_PLUGIN"};
  }
  if (plugin.devices < 1)
    return {false, plugin.reason + " sees no device", "install the device's driver"};
  return {true, plugin.reason, ""};
}

int AscendBackend::device_count() const {
  return ascend::plugin().devices;
}

Capabilities AscendBackend::capabilities() const {
  bool graphs = graph_mode();
  // How products are computed is the plug-in's to say: none of the precisions can be promised.
  return {.modes = {{.levels = graphs ? std::vector{Level::compile, Level::eager}
                                      : std::vector{Level::eager},
                     .dtype = {"fp32", "fp16", "bf16"},
                     .matmul_precision = {}}},
          .compile_available = graphs,
          .supports_graph_mode = graphs};
}

LevelPlan AscendBackend::compile(const std::string& component, const std::string&,
                                 const PlanFacts& facts) {
  const ascend::GraphEntries& graph = ascend::plugin().graph;
  if (!graph.complete()) {
    throw Unsupported({"compile", component,
                       "the plug-in exports no graph mode (omnirt_graph_supported and the like)",
                       ""});
  }
  if (!graph_mode()) throw Unsupported({"compile", component, "the device has no graph mode", ""});
  auto runner = std::make_shared<CaptureRunner>(
      [&graph, index = id().index] { return std::make_unique<PluginGraph>(graph, index); });
  return {nullptr, compute_form(Level::compile, facts), runner, "the plug-in's graph mode"};
}

void AscendBackend::reset_memory_stats() {
  if (auto* memory = allocator()) memory->resetPeakStats(device().index());
}

MemoryStats AscendBackend::memory_stats() const {
  auto* memory = allocator();
  if (!memory) return {};
  auto bytes = memory->getDeviceStats(device().index()).allocated_bytes[all_pools];
  return {.peak_bytes = static_cast<size_t>(bytes.peak),
          .allocated_bytes = static_cast<size_t>(bytes.current)};
}

double AscendBackend::available_memory_gb() const {
  auto* memory = allocator();
  if (!memory) return 0;
  return static_cast<double>(memory->getMemoryInfo(device().index()).first) /
         (1024.0 * 1024.0 * 1024.0);
}

void AscendBackend::synchronize() {
  c10::impl::getDeviceGuardImpl(at::kPrivateUse1)->synchronizeDevice(device().index());
}

BackendInfo ascend_backend_info() {
  return {"ascend", [](int index) { return std::make_unique<AscendBackend>(index); }, {}};
}

}  // namespace omnirt
