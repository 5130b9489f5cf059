#include "backends/stub/stub_backend.hpp"

#include <cstdlib>
#include <stdexcept>

#include "io/system_memory.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

using Failures = std::vector<StubScript::Failure>;

// The script's failures that concern a component at a level.
Failures failures_of(const StubScript& script, Level level, const std::string& component) {
  Failures found;
  for (const auto& failure : script.fail) {
    bool here = failure.component.empty() || failure.component == component;
    if (here && failure.level == to_string(level)) found.push_back(failure);
  }
  return found;
}

using Device = std::shared_ptr<const StubDevice>;

template <class Args>
void add_kernel(ops::Op<Args>& op, const Failures& failures, const Device& device) {
  Failures own;
  for (const auto& failure : failures) {
    if (failure.op == Args::name) own.push_back(failure);
  }
  op.add({"stub", [](const Args&) { return true; },
          [own = std::move(own), device](const Args& args) {
            for (const auto& failure : own) {
              if (failure.shape.empty() || failure.shape == Args::shape(args))
                throw std::runtime_error(failure.message);
            }
            if (!device) return Args::reference(args);
            // References take no memory that arguments let them have; a dry forward counts on it.
            if constexpr (requires { args.into; }) {
              if (args.into)
                return args.into->copy_(device->aside([&] { return Args::reference(args); }));
            }
            return device->result_of([&] { return Args::reference(args); });
          }});
}

void add_kernels(ops::OpTable& table, const Failures& failures, const Device& device) {
  ops::OpTable::visit(table, [&](auto& op) { add_kernel(op, failures, device); });
}

// Counts a component's calls, and fails those that the script names: after they were computed, so
// that all a call leaves behind is there when it is made again. A call's tensors are the device's.
class ScriptedRunner final : public CallRunner {
 public:
  ScriptedRunner(Failures failures, Device device)
      : failures_(std::move(failures)), device_(std::move(device)) {}
  Values run(Context& cx, const ComponentCall& call, const Values& inputs) override {
    int64_t number = ++calls_;
    std::optional<MemoryAccount::Scope> charged;
    if (device_) charged.emplace(device_->account());
    Values results = call.run(cx, inputs);
    for (const auto& failure : failures_) {
      if (failure.op.empty() && (failure.call == 0 || failure.call == number))
        throw LevelFailed(failure.message);
    }
    return results;
  }

 private:
  Failures failures_;
  Device device_;
  std::atomic<int64_t> calls_{0};
};

}  // namespace

StubBackend::StubBackend(StubScript script, std::shared_ptr<StubDevice> device)
    : script_(std::move(script)), device_(std::move(device)) {
  watch_tensor_memory();
  if (!device_ && script_.device) device_ = std::make_shared<StubDevice>(*script_.device);
}

Availability StubBackend::is_available() const noexcept {
  return {script_.available, script_.reason, script_.available ? "" : "unset OMNIRT_STUB"};
}

Capabilities StubBackend::capabilities() const {
  bool compiles = !script_.refuse.contains(Level::compile);
  return {.modes = {{.dtype = {"fp32", "bf16"}}},
          .compile_available = compiles,
          .supports_graph_mode = false,
          .plans_memory = device_ ? PlannedSpace::device : PlannedSpace::none};
}

void StubBackend::prepare(const PlanFacts&) {
  register_override("stub",
                    [device = device_](ops::OpTable& table) { add_kernels(table, {}, device); });
}

LevelPlan StubBackend::compile(const std::string&, const std::string&, const PlanFacts& facts) {
  return {nullptr, compute_form(Level::compile, facts), nullptr, "the references, as kernels"};
}

LevelPlan StubBackend::plan(Level level, const std::string& component, const std::string& tag,
                            const PlanFacts& facts) {
  auto refused = script_.refuse.find(level);
  if (refused != script_.refuse.end()) throw Unsupported({name(), "", refused->second, ""});
  LevelPlan plan = Backend::plan(level, component, tag, facts);
  Failures failures = failures_of(script_, level, component);
  if (level != Level::eager) {
    auto table = std::make_shared<ops::OpTable>();
    add_kernels(*table, failures, device_);
    plan.ops = table;
  }
  if (!failures.empty() || device_)
    plan.runner = std::make_shared<ScriptedRunner>(failures, device_);
  return plan;
}

void StubBackend::reset_memory_stats() {
  if (device_)
    device_->account().reset_peak();
  else
    reset_tensor_peak();
}

MemoryStats StubBackend::memory_stats() const {
  const TensorMemory memory = device_ ? device_->account().memory() : tensor_memory();
  return script_.memory.value_or(
      MemoryStats{memory.peak_bytes, memory.current_bytes, 0, /*per_run=*/!device_});
}

Tensor StubBackend::to_device(const Tensor& x, at::ScalarType dtype) const {
  return device_ ? device_->moved(x, dtype) : Backend::to_device(x, dtype);
}

double StubBackend::available_memory_gb() const {
  if (device_) return static_cast<double>(device_->free_bytes()) / 0x1p30;
  return script_.available_gb.value_or(io::available_memory_gb());
}

BackendInfo stub_backend_info() {
  auto make = []() -> std::unique_ptr<Backend> {
    const char* script = std::getenv("OMNIRT_STUB");
    if (!script) return std::make_unique<StubBackend>();
    try {
      return std::make_unique<StubBackend>(parse_stub_script(script));
    } catch (const InvalidRequest& error) {
      return std::make_unique<StubBackend>(StubScript{.available = false, .reason = error.what()});
    }
  };
  return {"cpu-stub", make, {}, /*automatic=*/false};
}

}  // namespace omnirt
