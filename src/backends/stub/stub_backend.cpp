#include "backends/stub/stub_backend.hpp"

#include <algorithm>
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
void add_kernel(ops::Op<Args>& op, const std::string& name, const Failures& failures,
                const Device& device) {
  Failures own;
  for (const auto& failure : failures) {
    if (failure.op == Args::name) own.push_back(failure);
  }
  op.add({name, [](const Args&) { return true; },
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

void add_kernels(ops::OpTable& table, const std::string& name, const Failures& failures,
                 const Device& device) {
  ops::OpTable::visit(table, [&](auto& op) { add_kernel(op, name, failures, device); });
}

constexpr const char* kernels_name = "stub";

bool has_class(const RunFacts& run, const std::string& tag) {
  return std::ranges::find(run.components, tag, &ComponentFacts::tag) != run.components.end();
}

bool refuses(const StubScript::Refusal& refusal, const RunFacts& run) {
  const ConfigValue* value = run.config.find(refusal.key);
  return (refusal.model.empty() || refusal.model == run.model.id) &&
         (refusal.tag.empty() || has_class(run, refusal.tag)) &&
         (refusal.key.empty() || (value && value->value == Json(refusal.value)));
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

StubBackend::StubBackend(StubScript script, std::shared_ptr<StubDevice> device, int index)
    : Backend(index), script_(std::move(script)), device_(std::move(device)) {
  watch_tensor_memory();
  const auto place = static_cast<size_t>(index);
  if (!device_ && place < script_.devices.size())
    device_ = std::make_shared<StubDevice>(script_.devices[place]);
}

int StubBackend::device_count() const {
  return std::max(1, static_cast<int>(script_.devices.size()));
}

Availability StubBackend::is_available() const noexcept {
  return {script_.available, script_.reason, script_.available ? "" : "unset OMNIRT_STUB"};
}

Capabilities StubBackend::capabilities() const {
  bool compiles = !script_.refuse.contains(Level::compile);
  std::vector<std::string> overrides{kernels_name};
  for (const StubScript::Override& each : script_.overrides) overrides.push_back(each.name);
  return {.modes = {{.dtype = {"fp32", "bf16"}}},
          .compile_available = compiles,
          .supports_graph_mode = false,
          .plans_memory = device_ ? PlannedSpace::device : PlannedSpace::none,
          .overrides = overrides};
}

void StubBackend::prepare(const RunFacts& run) {
  for (const StubScript::Refusal& each : script_.unprepared) {
    if (refuses(each, run)) throw Unsupported({"backend", id().text(), each.reason, ""});
  }
  auto kernels = [device = device_](const std::string& name) {
    return KernelOverride{
        name, [name, device](ops::OpTable& table) { add_kernels(table, name, {}, device); }};
  };
  for (const StubScript::Override& each : script_.overrides) {
    if (has_class(run, each.tag)) register_override(each.tag, kernels(each.name));
  }
  register_override(every_tag, kernels(kernels_name));
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
  // Without failures, kernel_override has the kernels that were registered.
  if (level == Level::compile || (level == Level::kernel_override && !failures.empty())) {
    auto table = std::make_shared<ops::OpTable>();
    add_kernels(*table, kernels_name, failures, device_);
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
  auto make = [](int index) -> std::unique_ptr<Backend> {
    const char* script = std::getenv("OMNIRT_STUB");
    if (!script) return std::make_unique<StubBackend>(StubScript(), nullptr, index);
    try {
      return std::make_unique<StubBackend>(parse_stub_script(script), nullptr, index);
    } catch (const InvalidRequest& error) {
      return std::make_unique<StubBackend>(StubScript{.available = false, .reason = error.what()});
    }
  };
  return {"cpu-stub", make, {}, /*automatic=*/false};
}

}  // namespace omnirt
