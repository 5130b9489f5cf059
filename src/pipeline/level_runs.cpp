#include "pipeline/level_runs.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "runtime/joined_call.hpp"

namespace omnirt {
namespace {

std::string dtype_name(at::ScalarType dtype) {
  return dtype == at::kFloat ? "fp32" : dtype == at::kBFloat16 ? "bf16" : "fp16";
}

// One row for each op, kernel and shape of a component, the dearest first.
void add_profile(const std::string& component, const std::vector<OpRecord>& trace,
                 std::vector<ProfileRow>& rows) {
  std::map<std::tuple<std::string, std::string, ops::Shape>, ProfileRow> sums;
  for (const OpRecord& op : trace) {
    ProfileRow& row = sums[{op.op, op.by, op.output}];
    row.calls += 1;
    row.ms += op.ms;
  }
  for (auto& [key, row] : sums) {
    row.component = component;
    std::tie(row.op, row.by, row.shape) = key;
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater<>{}, &ProfileRow::ms);
}

// Classes of the blocks that a network repeats, by path.
std::map<std::string, std::string> repeated_blocks(const nn::Network& network) {
  const nn::Metadata metadata = network.metadata();
  const Json& repeated = metadata["_repeated_blocks"];
  std::map<std::string, std::string> classes;
  network.visit([&](const nn::Module& module) {
    if (std::ranges::find(repeated, Json(module.class_name())) != repeated.end())
      classes[module.path()] = module.class_name();
  });
  return classes;
}

void add_block_times(const std::string& component, const nn::Network& network,
                     const std::vector<BlockTime>& times, std::vector<BlockProfileRow>& rows) {
  if (times.empty()) return;
  const std::map<std::string, std::string> repeated = repeated_blocks(network);
  for (const BlockTime& time : times) {
    const auto known = repeated.find(time.block);
    rows.push_back({component, time.block, time.calls, time.ms, time.waited_ms, time.moved_bytes,
                    known == repeated.end() ? "" : known->second});
  }
}

void report_blocks(const BlockCache& cache, RunReport& report) {
  const SharedStep& step = cache.step();
  if (!step.shares_blocks()) return;
  const bool first = step.kind == SharedStep::Kind::first_block;
  report.step_cache = {.kind = first ? "first_block" : "mag",
                       .threshold = step.threshold,
                       .full_steps = cache.full_steps(),
                       .cached_steps = cache.cached_steps()};
}

void report_predictions(const TaylorCache& cache, RunReport& report) {
  const SharedStep& step = cache.step();
  if (!step.predicts()) return;
  report.step_cache = {.kind = "taylorseer",
                       .interval = static_cast<int64_t>(step.interval),
                       .order = static_cast<int64_t>(step.order),
                       .full_steps = cache.full_steps(),
                       .cached_steps = cache.cached_steps()};
}

}  // namespace

LevelRuns::LevelRuns(const LoadedPipeline& pipeline, Options options)
    : pipeline_(pipeline),
      total_(options.total),
      shared_turn_(std::move(options.shared_turn)),
      remembers_(options.remembers),
      counter_(options.total) {
  for (const auto& [name, component] : pipeline.components()) {
    if (!component->network) continue;
    auto lease = [component = component, overlay = pipeline.overlay(name)](const ComputeForm& form,
                                                                           bool own) {
      return own ? component->own(form, overlay) : component->lease(form, overlay);
    };
    runs_.try_emplace(
        name, component->wrapped, std::move(lease),
        ComponentRun::Options{name, options.policy, &counter_, options.trace,
                              std::move(options.residency[name]), relief_of(*component)});
  }
}

ComponentRun::Relief LevelRuns::relief_of(const LoadedComponent& component) {
  if (!component.wrapped->backend().device_memory()) return {};
  auto uses = [store = component.store](const DryForward& call, const ComputeForm& form) {
    return param_uses(call, *store, form, WeightPlace::device);
  };
  return {[this, &device = component.wrapped->backend()] { release_all(device); }, uses};
}

void LevelRuns::release_all(const Backend& on) {
  for (auto& [name, run] : runs_) {
    LoadedComponent& component = *pipeline_.find(name);
    if (&component.wrapped->backend() != &on) continue;
    run.release();
    component.release();
  }
}

void LevelRuns::synchronize() const {
  std::set<Backend*> devices;
  for (const auto& [name, run] : runs_) devices.insert(&pipeline_.find(name)->wrapped->backend());
  for (Backend* device : devices) device->synchronize();
}

void LevelRuns::check() const {
  for (const auto& [name, run] : runs_) run.check();
}

void LevelRuns::apply_overlays() {
  for (const auto& [name, run] : runs_) {
    auto overlay = pipeline_.overlay(name);
    if (overlay && run.plan() && !run.streams())
      pipeline_.find(name)->lease(run.plan()->form, overlay)->apply_overlay();
  }
}

Values LevelRuns::call(const std::string& name, const ComponentCall& call, const Values& inputs,
                       const CancelToken* cancel) {
  auto run = runs_.find(name);
  ensure(run != runs_.end(), "component '{}' is not a loaded network", name);
  if (!forecast_) return computed(name, run->second, call, inputs, cancel);
  const DryForward& taken = run->second.forecast(call, inputs);
  forecast_({name, taken, call.rows, inputs});
  Values results;
  const MemoryAccount::Scope charged(results_(name));
  for (const auto& [result, list] : taken.results) {
    for (const Value& value : list) {
      const Tensor& of = value.tensor();
      results[result].push_back(value.placed(at::zeros(of.sizes(), of.options().device(at::kCPU))));
    }
  }
  return results;
}

Values LevelRuns::computed(const std::string& name, ComponentRun& run, const ComponentCall& call,
                           const Values& inputs, const CancelToken* cancel) {
  if (!remembers_ || !CallMemo::takes(inputs)) return in_turn(run, call, inputs, cancel);
  auto overlay = pipeline_.overlay(name);
  CallMemo& known_calls = pipeline_.find(name)->known_calls;
  auto how = [&] {
    return std::string(to_string(run.level())) + (overlay ? " " + overlay->key : "");
  };
  if (auto known = known_calls.find(how(), call, inputs)) {
    ++remembered_;
    return std::move(*known);
  }
  Values results = in_turn(run, call, inputs, cancel);
  known_calls.keep(how(), call, inputs, results);
  return results;
}

// One of the runs that share a turn computes at a time.
Values LevelRuns::in_turn(ComponentRun& run, const ComponentCall& call, const Values& inputs,
                          const CancelToken* cancel) {
  SharedTurn* turn = shared_turn_ ? shared_turn_() : nullptr;
  if (!turn) return run.call(call, inputs, cancel);
  JoinedCall joined(run, call, inputs, cancel);
  Values results = joined.made(*turn);
  runs_together_ = std::max(runs_together_, joined.runs());
  return results;
}

bool LevelRuns::leaves_memory(const std::string& name) const {
  auto run = runs_.find(name);
  if (run == runs_.end()) return false;
  const Offload offload = run->second.residency().offload;
  return offload != Offload::automatic && offload != Offload::none;
}

void LevelRuns::make_room() {
  for (const auto& [name, run] : runs_) {
    if (leaves_memory(name)) pipeline_.find(name)->release();
  }
}

bool LevelRuns::plans_memory() const {
  return std::ranges::any_of(runs_, [](const auto& entry) {
    return entry.second.residency().offload != Offload::automatic;
  });
}

void LevelRuns::release(const std::string& name) {
  auto run = runs_.find(name);
  if (run != runs_.end()) run->second.release();
}

void LevelRuns::end_loop(RunReport& report) {
  uint64_t bytes = 0;
  for (auto& [name, run] : runs_) {
    RunState& state = run.state();
    const StepCache& cache = state.step_cache();
    const SharedStep& step = cache.step();
    bytes += state.bytes();
    if (step.shares()) {
      report.step_cache = {"deep",
                           static_cast<int64_t>(step.interval),
                           static_cast<int64_t>(step.branch),
                           static_cast<int64_t>(step.order),
                           0,
                           cache.full_steps(),
                           cache.cached_steps()};
    }
    report_blocks(state.block_cache(), report);
    report_predictions(state.taylor_cache(), report);
    state = {};
  }
  uint64_t& most = report.memory.kept_between_steps_bytes;
  most = std::max(most, bytes);
}

void LevelRuns::describe(RunReport& report) const {
  report.backend_timeline.clear();
  report.device_placement.clear();
  report.fallbacks.clear();
  report.profile.clear();
  report.block_profile.clear();
  report.remembered_calls = remembered_;
  report.memory.weights_moved_bytes = 0;
  report.memory.weights_waited_ms = 0;
  for (const auto& [name, run] : runs_) {
    const LoadedComponent& component = *pipeline_.find(name);
    TimelineReport entry{name, {}};
    for (const Attempt& a : run.timeline().attempts)
      entry.attempts.push_back({a.level, a.ok, a.reason, a.selected, a.ms});
    report.backend_timeline.push_back(std::move(entry));
    add_profile(name, run.trace(), report.profile);
    add_block_times(name, *component.network, run.block_times(), report.block_profile);
    report.memory.predicted_tensor_peak_bytes =
        std::max<uint64_t>(report.memory.predicted_tensor_peak_bytes, run.predicted_peak_bytes());
    report.memory.weights_moved_bytes += run.streamed().bytes;
    report.memory.weights_waited_ms += run.streamed().waited_ms;
    if (!run.plan()) continue;
    report.device_placement.push_back({name, component.wrapped->backend().id().text(),
                                       dtype_name(run.plan()->form.dtype), component.stored_dtype,
                                       component.kept_dtype});
  }
  for (const FallbackCount& each : counter_.all()) {
    uint64_t total = total_ ? total_->count(each.component, each.level, each.kind) : each.count;
    report.fallbacks.push_back(
        {each.component, to_string(each.level), to_string(each.kind), each.count, total});
  }
}

}  // namespace omnirt
