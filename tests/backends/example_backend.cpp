#include "backends/example_backend.hpp"

#include <ATen/ops/addmm.h>

#include "io/system_memory.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

// A product with a bias in one call. It serves what `accepts` takes; the next kernel or the
// reference serves the rest.
ops::Kernel<ops::Linear> linear_kernel() {
  return {"example linear",
          [](const ops::Linear& args) {
            return args.bias && !args.residual && args.activation == ops::Activation::none &&
                   args.weight.scalar_type() == args.x.scalar_type();
          },
          [](const ops::Linear& args) {
            Tensor rows = args.x.reshape({-1, args.x.size(-1)});
            return at::addmm(*args.bias, rows, args.weight.t()).view(ops::Linear::shape(args));
          }};
}

}  // namespace

Availability ExampleBackend::is_available() const noexcept {
  return {true, "needs nothing that a machine may lack"};
}

Capabilities ExampleBackend::capabilities() const {
  return {.modes = {{.levels = {Level::kernel_override, Level::eager}, .dtype = {"fp32", "bf16"}}},
          .compile_available = false,
          .supports_graph_mode = false,
          .overrides = {"linear"}};
}

void ExampleBackend::prepare(const RunFacts&) {
  register_override(every_tag,
                    {"linear", [](ops::OpTable& table) { table.linear.add(linear_kernel()); }});
}

LevelPlan ExampleBackend::compile(const std::string& component, const std::string&,
                                  const PlanFacts&) {
  throw Unsupported({"compile", component, "the example has no compiler", ""});
}

void ExampleBackend::reset_memory_stats() {
  reset_tensor_peak();
}

MemoryStats ExampleBackend::memory_stats() const {
  TensorMemory memory = tensor_memory();
  return {memory.peak_bytes, memory.current_bytes};
}

double ExampleBackend::available_memory_gb() const {
  return io::available_memory_gb();
}

BackendInfo example_backend_info() {
  return {"example", [](int /*index*/) { return std::make_unique<ExampleBackend>(); }, {}};
}

}  // namespace omnirt
