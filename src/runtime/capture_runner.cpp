#include "runtime/capture_runner.hpp"

#include <algorithm>

namespace omnirt {

namespace {

constexpr size_t most_remembered = 64;  // sets of values with which a call ran op by op

// Of the inputs that live as long as the run, in their order.
using Ids = std::vector<uint64_t>;

Ids ids_of(const Values& inputs) {
  Ids ids;
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) {
      if (value.life() == Life::run) ids.push_back(value.id());
    }
  }
  return ids;
}

Values cloned(const Values& values) {
  Values clones;
  for (const auto& [name, list] : values) {
    for (const Value& value : list) clones[name].push_back(value.placed(value.tensor().clone()));
  }
  return clones;
}

std::weak_ptr<const void> alive_of(const Values& inputs, uint64_t id) {
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) {
      if (value.id() == id) return value.alive();
    }
  }
  return {};
}

void copy_into(const Values& to, const Values& from) {
  for (const auto& [name, list] : from) {
    for (size_t i = 0; i < list.size(); ++i) to.at(name)[i].tensor().copy_(list[i].tensor());
  }
}

}  // namespace

struct CaptureRunner::Capture {
  // What the graph reads of that which is made once per run.
  struct Constant {
    std::string site;
    size_t value;  // its place among the inputs that live as long as the run
    Tensor own;
    uint64_t holds;  // the value that `own` was made of
  };
  CallKey key;
  // The graph reads the weights in place, so they must not be freed before it is.
  std::shared_ptr<const Binding> binding;
  Values inputs;
  Values outputs;
  std::vector<Constant> constants;
  std::unique_ptr<Graph> graph;  // none before the second call with the same values
  std::vector<Ids> ran;          // values with which a call ran op by op

  // Whether all that the graph reads was made of these values; then it reads that.
  bool reads(const RunState* state, const Ids& ids) {
    for (const Constant& constant : constants) {
      if (!state || !state->find(constant.site, ids[constant.value])) return false;
    }
    for (Constant& constant : constants) {
      uint64_t wanted = ids[constant.value];
      if (constant.holds == wanted) continue;
      constant.own.copy_(*state->find(constant.site, wanted));
      constant.holds = wanted;
    }
    return true;
  }
};

CaptureRunner::CaptureRunner(MakeGraph make, size_t most) : make_(std::move(make)), most_(most) {}
CaptureRunner::~CaptureRunner() = default;

// The capture of a key over these weights, moved to the front; a fresh one where there is none.
CaptureRunner::Capture& CaptureRunner::entry(CallKey key,
                                             const std::shared_ptr<const Binding>& binding) {
  auto it = std::ranges::find_if(captures_, [&](const auto& each) { return each->key == key; });
  if (it != captures_.end() && (*it)->binding == binding) {
    std::rotate(captures_.begin(), it, it + 1);
    return *captures_.front();
  }
  if (it != captures_.end()) captures_.erase(it);
  captures_.push_front(std::make_unique<Capture>());
  captures_.front()->key = std::move(key);
  captures_.front()->binding = binding;
  if (captures_.size() > most_) captures_.pop_back();
  return *captures_.front();
}

Values CaptureRunner::run(Context& cx, const ComponentCall& call, const Values& inputs) {
  if (call.step.shares_any() || !cx.may_capture()) return call.run(cx, inputs);
  // One call at a time: a graph's inputs and outputs have one place.
  std::scoped_lock lock(mutex_);
  Capture& known = entry(call_key(call.variant, inputs), cx.binding());
  Ids ids = ids_of(inputs);
  if (known.graph && known.reads(cx.state(), ids)) {
    copy_into(known.inputs, inputs);
  } else if (!known.graph && std::ranges::find(known.ran, ids) != known.ran.end()) {
    capture(known, cx, call, inputs);
  } else {
    Values results = call.run(cx, inputs);
    if (!known.graph && known.ran.size() < most_remembered) known.ran.push_back(std::move(ids));
    return results;
  }
  known.graph->replay();
  Values results;
  for (const auto& [name, list] : known.outputs) {
    for (const Value& value : list) results[name].emplace_back(value.tensor().clone());
  }
  return results;
}

// A run's state may end before the graph does, so the graph has copies of what is kept there.
void CaptureRunner::capture(Capture& known, Context& cx, const ComponentCall& call,
                            const Values& inputs) {
  Ids ids = ids_of(inputs);
  RunState own;
  known.constants.clear();
  known.inputs = cloned(inputs);
  auto take = [&](const std::string& site, uint64_t id, const Tensor& kept) {
    auto place = static_cast<size_t>(std::ranges::find(ids, id) - ids.begin());
    const Tensor& copy = own.keep(site, id, alive_of(inputs, id), kept.clone());
    known.constants.push_back({site, place, copy, id});
  };
  RunState* of_run = cx.state();
  if (of_run) of_run->visit(ids, take);
  auto graph = make_();
  cx.use_state(of_run ? &own : nullptr);
  graph->capture([&] { known.outputs = call.run(cx, known.inputs); });
  cx.use_state(of_run);
  known.graph = std::move(graph);
  known.ran.clear();
}

void CaptureRunner::forget() {
  std::scoped_lock lock(mutex_);
  captures_.clear();
}

size_t CaptureRunner::captures() const {
  std::scoped_lock lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(captures_, [](const auto& each) { return each->graph != nullptr; }));
}

}  // namespace omnirt
