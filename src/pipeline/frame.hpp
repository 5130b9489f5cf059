#pragma once
#include <algorithm>
#include <any>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/ensure.hpp"
#include "guiders/guider.hpp"
#include "pipeline/artifact.hpp"
#include "pipeline/block.hpp"
#include "pipeline/level_runs.hpp"
#include "pipeline/loaded_pipeline.hpp"
#include "pipeline/local_values.hpp"
#include "pipeline/scheduler_choice.hpp"

namespace omnirt {

class StepBlock;  // pipeline/loop.hpp

// All that one run has: the values that its blocks pass on, by name; those of a condition next to
// the shared ones. Blocks reach them only through ports that they declared. Belongs to one run and
// one thread.
class Frame {
 public:
  struct Options {
    const ConfigValues* config = nullptr;
    const Guider* guider = nullptr;
    const SchedulerChoice* scheduler = nullptr;
    LoadedPipeline* pipeline = nullptr;
    LevelRuns* levels = nullptr;
    const CancelToken* cancel = nullptr;
    std::string run_id;
    std::string model;
    // Makes the request that makes this run again; null where its files are to embed none.
    std::function<Json()> record{};
    // Generators that the request brings in place of its seed's; null: none.
    std::shared_ptr<Noise> noise{};
    // Whether images and videos become files; and what receives their pixels.
    bool writes_files = true;
    OnArtifact on_artifact{};
    // Whether anyone reads a value that the running block makes; null: yes.
    std::function<bool(const std::string& name)> is_read{};
    // Ends the run, or warns, where a tensor holds numbers that are not finite; null: nothing.
    std::function<void(const Block& block, const Tensor& made, const std::string& what)>
        check_finite{};
    // Runs `turn`, a whole block's turn within a loop, as blocks of the list are run: timed,
    // checked and reported. Null: it is just called.
    std::function<void(const Block& block, const std::function<void()>& turn)> around_part{};
  };
  explicit Frame(Options options);

  template <class T>
  const T& operator[](const Input<T>& port) const {
    return required<T>(port, condition_);
  }
  template <class T>
  const T* operator[](const OptionalInput<T>& port) const {
    check(port);
    return find<T>(port.name(), condition_);
  }
  template <class T>
  T& operator[](const Output<T>& port) {
    check(port);
    return slot<T>(port.name());
  }
  template <class T>
  T& operator[](const InOut<T>& port) {
    return const_cast<T&>(required<T>(port, condition_));
  }
  template <class T>
  const T& operator[](const Component<T>& port) const {
    check(port);
    if constexpr (std::is_same_v<T, SchedulerChoice>)
      return *options_.scheduler;
    else
      return options_.pipeline->get<T>(port.name());
  }
  template <class T>
  T operator[](const Config<T>& port) const {
    check(port);
    return options_.config->get(port.key);
  }
  template <class T>
  std::optional<T> maybe(const Config<T>& port) const {
    check(port);
    return options_.config->maybe(port.key);
  }
  // The value that a per_condition block made under `condition`; for blocks that take over.
  template <class T>
  const T& under(const std::string& condition, const Input<T>& port) const {
    return required<T>(port, condition);
  }

  // The same; null where the condition has none.
  template <class T>
  const T* under(const std::string& condition, const OptionalInput<T>& port) const {
    check(port);
    return find<T>(port.name(), condition);
  }

  // What comes in by the port under each condition that the guider asks for, each input once.
  template <class T>
  std::vector<const T*> under_each(const Input<T>& port) const {
    check(port);
    std::map<std::string, const T*> all;
    for (const Condition& condition : guider().conditions()) {
      auto renamed = condition.renames.find(port.name());
      const std::string& name = renamed == condition.renames.end() ? port.name() : renamed->second;
      auto value = values_.at("").find(name);
      if (value != values_.at("").end()) all[name] = std::any_cast<T>(&value->second);
    }
    std::vector<const T*> each;
    for (const auto& [name, value] : all) each.push_back(value);
    return each;
  }

  // Whether the running condition puts another input in this one's place (negative_prompt for
  // prompt).
  template <class T>
  bool renamed(const Input<T>& port) const {
    check(port);
    return !as_prompt_ && renames_.contains(port.name());
  }

  // The replacement of a component that the running block declared: the one that a condition names,
  // or the component itself for "".
  template <class T>
  const T& stand_in(const Component<T>& port, const std::string& component) const {
    check(port);
    return options_.pipeline->get<T>(component.empty() ? port.name() : component);
  }

  // One call of a component that the running block declared, or of its replacement:
  // `body(network, cx, inputs)` on the device, at the component's level, made again at the next
  // one when a level fails it. It returns Values, or one Tensor. `inputs` may be on the CPU or the
  // device, the results are on the device (`host`); see ComponentCall for `variant` and what a body
  // may do.
  template <class T, class Body>
  Values call(const Component<T>& port, const Values& inputs, Body&& body,
              const std::string& variant = "") {
    return call(port, inputs, std::forward<Body>(body),
                ComponentCall{.variant = variant, .body = {}});
  }
  // The same for a loop's batch: `call` has all but the body.
  template <class T, class Body>
  Values call(const Component<T>& port, const Values& inputs, Body&& body, ComponentCall call,
              const std::string& component = "") {
    const T& network = stand_in(port, component);
    call.body = [&](Context& cx, const Values& on_device) {
      using Made = decltype(body(network, cx, on_device));
      if constexpr (std::is_same_v<Made, Values>)
        return body(network, cx, on_device);
      else
        return result(body(network, cx, on_device));
    };
    return options_.levels->call(component.empty() ? port.name() : component, call, inputs,
                                 options_.cancel);
  }
  const Guider& guider() const { return *options_.guider; }
  const CancelToken* cancel() const { return options_.cancel; }
  // The request that the run's files embed; null: none.
  const Json& record();
  bool writes_files() const { return options_.writes_files; }
  // What the run made, once its file is written, where one is.
  void deliver(const Artifact& artifact) const {
    if (options_.on_artifact) options_.on_artifact(artifact);
  }
  // The source of the run's noise: the generators that the request brings, else those of `seeds`.
  std::shared_ptr<Noise> noise_of(std::span<const uint64_t> seeds) const {
    return options_.noise ? options_.noise : std::make_shared<Noise>(seeds);
  }
  const std::string& run_id() const { return options_.run_id; }
  const std::string& model() const { return options_.model; }

  // Whether the running block need make this output: false where nothing reads it.
  template <class T>
  bool is_read(const Output<T>& port) const {
    check(port);
    return !options_.is_read || options_.is_read(port.name());
  }
  // Checks a tensor that becomes no output; those that do are checked after the block.
  void check_finite(const Tensor& made, const std::string& what) const {
    if (options_.check_finite) options_.check_finite(*block_, made, what);
  }

  // Whether the running condition puts other inputs in the request's place: what it is asked under
  // is not what the request says.
  bool unconditional() const { return !as_prompt_ && !renames_.empty(); }

  // Another block's turn, within the running one's: a loop runs the loop inside it, or the step
  // blocks before it. Inputs are the shared ones then, and `locals` come before the frame's values.
  template <class Run>
  auto within(const Block& block, Run&& run, const LocalValues* locals = nullptr) {
    Turn back(*this);
    enter(&block, nullptr);
    locals_ = locals;
    return run();
  }
  // The same for a block that runs once for each condition that takes inputs of its own.
  template <class Run>
  void each_condition(const Block& block, Run&& run) {
    Turn back(*this);
    std::vector<Condition> all = guider().conditions();
    for (const Condition& condition : all) {
      if (first_of_inputs(all, condition).name != condition.name) continue;
      enter(&block, &condition);
      run();
    }
  }
  // A turn that the run counts as one of its blocks' (Options::around_part).
  void run_part(const Block& block, const std::function<void()>& turn) const {
    options_.around_part ? options_.around_part(block, turn) : turn();
  }
  // The step blocks that come before the current loop, in order; each is in it once.
  void add_step_block(const StepBlock* block) {
    if (std::ranges::find(step_blocks_, block) == step_blocks_.end()) step_blocks_.push_back(block);
  }
  const std::vector<const StepBlock*>& step_blocks() const { return step_blocks_; }

  // For the executor: whose turn it is, and what the request brings.
  void enter(const Block* block, const Condition* condition);
  template <class T>
  void put(const std::string& name, T value) {
    values_[""][name] = std::move(value);
  }
  // Forgets a value, under all conditions.
  void drop(const std::string& name) {
    for (auto& [condition, values] : values_) values.erase(name);
  }
  // All values by condition ("" is shared) and name, for code that saves a run and continues one.
  using Slots = std::map<std::string, std::map<std::string, std::any>>;
  const Slots& values() const { return values_; }
  void restore(const std::string& condition, const std::string& name, std::any value) {
    values_[condition][name] = std::move(value);
  }
  template <class T>
  const T* peek(const std::string& name, const std::string& condition = "") const {
    return find<T>(name, condition);
  }

 private:
  // Whose turn it was, and is again.
  struct Turn {
    explicit Turn(Frame& of)
        : frame(of),
          block(of.block_),
          locals(of.locals_),
          condition(of.condition_),
          renames(of.renames_),
          as_prompt(of.as_prompt_) {}
    Turn(const Turn&) = delete;
    ~Turn() {
      frame.block_ = block;
      frame.locals_ = locals;
      frame.condition_ = std::move(condition);
      frame.renames_ = std::move(renames);
      frame.as_prompt_ = as_prompt;
    }
    Frame& frame;
    const Block* block;
    const LocalValues* locals;
    std::string condition;
    std::map<std::string, std::string> renames;
    bool as_prompt;
  };

  void check(const Port& port) const {
    ensure(port.block() == block_, "block '{}' reached for port '{}', which it did not declare",
           block_ ? block_->name() : "", port.name());
  }
  template <class T>
  const T& required(const Port& port, const std::string& condition) const {
    check(port);
    const T* value = find<T>(port.name(), condition);
    ensure(value != nullptr, "block '{}' needs '{}', which is not there", block_->name(),
           port.name());
    return *value;
  }
  const std::any* find_any(const std::string& name, const std::string& condition) const;
  template <class T>
  const T* find(const std::string& name, const std::string& condition) const {
    if (const T* local = locals_ ? locals_->find<T>(name) : nullptr) return local;
    const std::any* value = find_any(name, condition);
    if (!value) return nullptr;
    const T* typed = std::any_cast<T>(value);
    ensure(typed != nullptr, "'{}' holds another type than was declared", name);
    return typed;
  }
  template <class T>
  T& slot(const std::string& name) {
    if (locals_) return locals_->slot<T>(name);
    std::any& value = values_[condition_][name];
    if (!std::any_cast<T>(&value)) value = T{};
    return *std::any_cast<T>(&value);
  }

  Options options_;
  std::optional<Json> record_;
  const Block* block_ = nullptr;
  const LocalValues* locals_ = nullptr;  // of the running block's loop
  std::vector<const StepBlock*> step_blocks_;
  std::string condition_;
  std::map<std::string, std::string> renames_;
  bool as_prompt_ = false;
  // condition -> the first one that takes the same inputs, whose values are its own
  std::map<std::string, std::string> same_inputs_;
  Slots values_;
};

}  // namespace omnirt
