#include "runtime/component_run.hpp"

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "runtime/backend.hpp"

namespace omnirt {
namespace {

// ATen's errors have a stack trace after their message.
std::string without_trace(const std::string& text) {
  return text.substr(0, text.find("\nException raised from"));
}

// Keeps where a context was when it ended.
class Located {
 public:
  Located(const Context& cx, std::string& where) : cx_(cx), where_(where) {}
  ~Located() { where_ = cx_.where(); }
  Located(const Located&) = delete;
  Located& operator=(const Located&) = delete;

 private:
  const Context& cx_;
  std::string& where_;
};

// Of the values that live as long as the run.
RunState::Batch lasting(const Values& inputs) {
  RunState::Batch batch;
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) {
      if (value.life() == Life::run) batch.emplace_back(value.id(), value.rows());
    }
  }
  return batch;
}

}  // namespace

ComponentRun::ComponentRun(std::shared_ptr<WrappedComponent> wrapped, Lease lease, Options options)
    : wrapped_(std::move(wrapped)), lease_(std::move(lease)), options_(std::move(options)) {
  choose(0);
}

// Takes the first level from `from` on that is allowed and works.
void ComponentRun::choose(int from) {
  std::vector<Level> refused;
  plan_ = nullptr;
  for (Level level : all_levels) {
    if (static_cast<int>(level) < from || !options_.policy.allows(level)) continue;
    const WrappedComponent::Outcome& outcome = wrapped_->at(level);
    attempts_.push_back({to_string(level), outcome.ok, outcome.reason, outcome.ok, outcome.ms});
    if (outcome.ok) {
      plan_ = &outcome.plan;
      level_ = level;
      break;
    }
    refused.push_back(level);
  }
  // A run that cannot begin has not fallen back.
  if (!plan_ || !options_.counter) return;
  for (Level level : refused)
    options_.counter->add(options_.component, level, FallbackKind::refused);
}

std::string ComponentRun::refusal() const {
  const LevelPolicy& policy = options_.policy;
  std::string wanted = policy.only ? fmt::format("level {}", to_string(*policy.only))
                       : policy.required
                           ? fmt::format("level {} or a faster one", to_string(*policy.required))
                           : "a level";
  return fmt::format("component {} must run at {}", options_.component, wanted);
}

void ComponentRun::check() const {
  if (plan_) return;
  std::string reasons;
  for (const Attempt& attempt : attempts_) {
    if (!attempt.ok) reasons += fmt::format("; {}: {}", attempt.level, attempt.reason);
  }
  throw RunFailed(
      fmt::format("{}, and {} cannot{}; omit level and require_level to use "
                  "whichever works",
                  refusal(), wrapped_->backend().id().text(), reasons));
}

void ComponentRun::count(FallbackKind kind, uint64_t count) {
  if (options_.counter) options_.counter->add(options_.component, level_, kind, count);
}

// Where slower levels are refused, a kernel may not be skipped in silence either.
bool ComponentRun::requires_kernels() const {
  auto above_eager = [](const std::optional<Level>& level) {
    return level && *level != Level::eager;
  };
  return above_eager(options_.policy.only) || above_eager(options_.policy.required);
}

Context ComponentRun::context(const CancelToken* cancel, std::vector<KernelFailure>& failures,
                              bool keeps) {
  WeightStream* stream = this->stream();
  return {*plan_->ops,
          stream ? stream->binding() : lease_(plan_->form, false),
          {.cancel = cancel,
           .state = keeps ? &state_ : nullptr,
           .trace = options_.trace ? &trace_ : nullptr,
           .blocks = options_.trace ? &blocks_ : nullptr,
           .failures = &failures,
           .require_kernels = requires_kernels(),
           .stream = stream,
           .capture = options_.residency.offload == Offload::automatic}};
}

// Null where all weights stay.
WeightStream* ComponentRun::stream() {
  if (!stream_ && !options_.residency.groups.empty()) {
    ComputeForm form = plan_->form;
    // What a kernel packs would go with the weight, and be packed again at each use.
    if (form.pack == ops::PackPolicy::automatic) form.pack = ops::PackPolicy::never;
    DeviceMemory* device = wrapped_->backend().device_memory();
    stream_ = std::make_unique<WeightStream>(lease_(form, true), options_.residency,
                                             device ? device->copies() : nullptr);
  }
  return stream_.get();
}

void ComponentRun::release() {
  if (!stream_) return;
  const StreamFigures& figures = stream_->figures();
  streamed_.bytes += figures.bytes;
  streamed_.groups += figures.groups;
  streamed_.waited_ms += figures.waited_ms;
  stream_.reset();
}

const DryForward& ComponentRun::forecast(const ComponentCall& call, const Values& inputs) {
  check();
  CallKey key = call_key(call.variant, inputs);
  auto known = std::ranges::find(forecasts_, key, &std::pair<CallKey, DryForward>::first);
  if (known != forecasts_.end()) return known->second;
  // Constants are made in it; features that steps share are counted by those who add up the rows.
  auto made = dry_forward(*plan_->ops, plan_->form, call, inputs, {.features = true});
  return forecasts_.emplace_back(std::move(key), std::move(made)).second;
}

// A value that lives as long as the run travels once.
Tensor ComponentRun::on_device(const Value& value) {
  const Backend& backend = wrapped_->backend();
  auto known = moved_.find(value.id());
  if (known != moved_.end()) return known->second.second;
  Tensor moved = backend.to_device(value.tensor(), value.tensor().scalar_type());
  if (value.life() == Life::step || moved.is_same(value.tensor())) return moved;
  std::erase_if(moved_, [](const auto& entry) { return entry.second.first.expired(); });
  moved_[value.id()] = {value.alive(), moved};
  return moved;
}

Values ComponentRun::on_device(const Values& inputs) {
  Values moved;
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) moved[name].push_back(value.placed(on_device(value)));
  }
  return moved;
}

// Waits for the device, so that what it does late fails within the call.
Values ComponentRun::at_level(const ComponentCall& call, const Values& inputs, Context& cx) {
  Backend& backend = wrapped_->backend();
  CallRunner* runner = plan_->runner.get();
  // Batches of other values or rows each make what they keep.
  RunState::Batch batch = cx.state() ? lasting(inputs) : RunState::Batch();
  const bool again = cx.state() && state_.has_made(batch);
  if (size_t planned = runner ? runner->planned_peak(call, inputs, again) : 0)
    predicted_peak_ = std::max(predicted_peak_, backend.memory_stats().allocated_bytes + planned);
  // What allocates or launches without naming a device does it on this one.
  const at::Device device = backend.device();
  const c10::OptionalDeviceGuard here(device.is_cpu() ? std::nullopt : std::optional(device));
  Values there = on_device(inputs);
  Values results = runner ? runner->run(cx, call, there) : call.run(cx, there);
  backend.synchronize();
  if (cx.state()) state_.note_made(std::move(batch));
  return results;
}

Values ComponentRun::call(const ComponentCall& call, const Values& inputs,
                          const CancelToken* cancel) {
  check();
  ++calls_;
  while (true) {
    double start = now_ms();
    std::string where;
    auto told = [&](const std::exception& error) {
      return fmt::format("call {}{}: {}", calls_, where, reason_of(error));
    };
    std::vector<KernelFailure> failures;
    try {
      Context cx = context(cancel, failures, /*keeps=*/true);
      const BlockTimes::Turn turn(options_.trace ? &blocks_ : nullptr, "", stream_.get());
      const Located located(cx, where);
      Values results = at_level(call, inputs, cx);
      note(failures);
      return results;
    } catch (const std::exception& error) {
      note(failures);
      if (is_out_of_memory(error) && relieve(call, inputs, told(error), now_ms() - start)) continue;
      // Below eager there is nothing: its failure is the run's, in its own words.
      if (!is_level_failure(error) || level_ == Level::eager) throw;
      fall(told(error), now_ms() - start);
    }
  }
}

ComponentRun::Together ComponentRun::together() {
  check();
  if (streams() || options_.trace || level_ == Level::eager || wrapped_->backend().device_memory())
    return {};
  return {plan_, lease_(plan_->form, false), requires_kernels()};
}

Values ComponentRun::call_for_several(const ComponentCall& call, const Values& inputs) {
  std::vector<KernelFailure> failures;
  ComponentCall batch = call;
  batch.rows.clear();
  Context cx = context(nullptr, failures, /*keeps=*/false);
  Values results = at_level(batch, inputs, cx);
  note(failures);
  return results;
}

void ComponentRun::came_apart(const std::exception_ptr& error, size_t runs, double ms) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    attempts_.push_back(
        {to_string(level_), false,
         fmt::format("a call for {} runs: {}; each makes its own", runs, reason_of(thrown)), false,
         ms});
    count(is_out_of_memory(thrown) ? FallbackKind::memory : FallbackKind::call);
  } catch (...) {
    count(FallbackKind::call);
  }
}

// The call is made again with less of the device held: first without what other components and
// earlier runs left there, then with this one's weights coming and going by layer, at last one at a
// time. False where that is not to be had; throws where nothing is left to try.
bool ComponentRun::relieve(const ComponentCall& call, const Values& inputs,
                           const std::string& reason, double ms) {
  constexpr int last = 3;
  if (!options_.relief.release) return false;
  if (relieved_ == last) {
    throw OutOfMemory(fmt::format(
        "{}: the device has no more memory for component {} ({}), even where one layer of "
        "it is held at a time; make fewer or smaller images, or give vae_tiling",
        wrapped_->backend().id().text(), options_.component, reason));
  }
  ++relieved_;
  state_.clear();
  moved_.clear();
  release();
  options_.relief.release();
  const std::string how =
      relieved_ == 1 ? "without weights that others hold there" : hold_less(call, inputs);
  attempts_.push_back(
      {to_string(level_), false, fmt::format("{}; it is made again {}", reason, how), false, ms});
  count(FallbackKind::memory);
  return true;
}

std::string ComponentRun::hold_less(const ComponentCall& call, const Values& inputs) {
  Residency less =
      cut_into_groups(options_.relief.uses(forecast(call, inputs), plan_->form), Offload::leaf, 0);
  less.prefetch = relieved_ == 2 ? 1 : 0;
  options_.residency = std::move(less);
  return fmt::format("with weights that come and go by layer, {} ahead",
                     options_.residency.prefetch);
}

// Continues at the next level.
void ComponentRun::fall(const std::string& reason, double ms) {
  for (Attempt& attempt : attempts_) attempt.selected = false;
  attempts_.push_back({to_string(level_), false, reason, false, ms});
  state_.clear();
  release();
  Level failed = level_;
  if (options_.policy.strict(failed)) {
    plan_ = nullptr;
    throw RunFailed(fmt::format("{}, and it failed: {}", refusal(), reason));
  }
  count(FallbackKind::call);
  choose(static_cast<int>(failed) + 1);
  check();
}

// Every failure is counted; the timeline names each kernel once.
void ComponentRun::note(const std::vector<KernelFailure>& failures) {
  if (failures.empty()) return;
  count(FallbackKind::kernel, failures.size());
  for (const KernelFailure& failure : failures) {
    std::string what =
        fmt::format("kernel {} of op {} was passed over", failure.kernel, failure.op);
    bool told = std::ranges::any_of(
        attempts_, [&](const Attempt& attempt) { return attempt.reason.starts_with(what); });
    if (told) continue;
    attempts_.push_back({to_string(level_), false,
                         fmt::format("{}, call {} at {}: {}", what, calls_, failure.site,
                                     without_trace(failure.reason)),
                         false, 0});
  }
}

}  // namespace omnirt
