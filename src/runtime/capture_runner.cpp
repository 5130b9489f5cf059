#include "runtime/capture_runner.hpp"

#include <algorithm>

namespace omnirt {

struct CaptureRunner::Capture {
  CallKey key;
  // The graph reads the weights where they lie, so they must not go before it does.
  std::shared_ptr<const Binding> binding;
  NamedTensors inputs;
  Tensor output;
  std::unique_ptr<Graph> graph;  // none before the second call
  bool warm = false;
  bool keeps_state = false;
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

Tensor CaptureRunner::run(Context& cx, const ComponentCall& call, const NamedTensors& inputs) {
  // One call at a time: a graph's inputs and outputs have one place.
  std::scoped_lock lock(mutex_);
  cx.keep_constants(false);
  Capture& known = entry(call_key(call.variant, inputs), cx.binding());
  auto keeps_state = [&] { return cx.state() && !cx.state()->empty(); };
  if (!known.warm || known.keeps_state || keeps_state()) {
    Tensor result = call.body(cx, inputs);
    known.warm = true;
    known.keeps_state = keeps_state();
    return result;
  }
  if (known.graph) {
    for (const auto& [name, x] : inputs) known.inputs[name].copy_(x);
  } else {
    for (const auto& [name, x] : inputs) known.inputs[name] = x.clone();
    auto graph = make_();
    graph->capture([&] { known.output = call.body(cx, known.inputs); });
    known.graph = std::move(graph);
  }
  known.graph->replay();
  return known.output.clone();
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
