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

template <class Args>
void add_kernel(ops::Op<Args>& op, const Failures& failures) {
  Failures own;
  for (const auto& failure : failures) {
    if (failure.op == Args::name) own.push_back(failure);
  }
  op.add({"stub", [](const Args&) { return true; },
          [own = std::move(own)](const Args& args) {
            for (const auto& failure : own) {
              if (failure.shape.empty() || failure.shape == Args::shape(args))
                throw std::runtime_error(failure.message);
            }
            return Args::reference(args);
          }});
}

void add_kernels(ops::OpTable& table, const Failures& failures) {
  ops::OpTable::visit(table, [&](auto& op) { add_kernel(op, failures); });
}

// Counts a component's calls, and fails those that the script names: after they were computed, so
// that all a call leaves behind is there when it is made again.
class ScriptedRunner final : public CallRunner {
 public:
  explicit ScriptedRunner(Failures failures) : failures_(std::move(failures)) {}
  Values run(Context& cx, const ComponentCall& call, const Values& inputs) override {
    int64_t number = ++calls_;
    Values results = call.run(cx, inputs);
    for (const auto& failure : failures_) {
      if (failure.op.empty() && (failure.call == 0 || failure.call == number))
        throw LevelFailed(failure.message);
    }
    return results;
  }

 private:
  Failures failures_;
  std::atomic<int64_t> calls_{0};
};

}  // namespace

StubBackend::StubBackend(StubScript script) : script_(std::move(script)) {
  watch_tensor_memory();
}

Availability StubBackend::is_available() const noexcept {
  return {script_.available, script_.reason, script_.available ? "" : "unset OMNIRT_STUB"};
}

Capabilities StubBackend::capabilities() const {
  bool compiles = !script_.refuse.contains(Level::compile);
  return {.modes = {{.dtype = {"fp32", "bf16"}}},
          .compile_available = compiles,
          .supports_graph_mode = false};
}

void StubBackend::prepare(const PlanFacts&) {
  register_override("stub", [](ops::OpTable& table) { add_kernels(table, {}); });
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
    add_kernels(*table, failures);
    plan.ops = table;
  }
  if (!failures.empty()) plan.runner = std::make_shared<ScriptedRunner>(failures);
  return plan;
}

void StubBackend::reset_memory_stats() {
  reset_tensor_peak();
}

MemoryStats StubBackend::memory_stats() const {
  TensorMemory memory = tensor_memory();
  return script_.memory.value_or(
      MemoryStats{memory.peak_bytes, memory.current_bytes, 0, /*per_run=*/true});
}

double StubBackend::available_memory_gb() const {
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
