#include "python/run.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <vector>

#include "engine/engine.hpp"
#include "python/arrays.hpp"
#include "python/errors.hpp"
#include "python/interrupt.hpp"

namespace omnirt::python {
namespace {

// Signals that came meanwhile have their turn between steps, as they have between lines of Python.
void let_signals_in() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// What a run made.
struct Made {
  std::vector<std::vector<io::Image>> artifacts;
  Tensor latents;
};

RunHooks hooks_of(const RunCall& call, const Callbacks& callbacks, Made& made) {
  RunHooks hooks;
  hooks.cancel = call.cancel.get();
  hooks.on_artifact = [&](const Artifact& artifact) {
    made.artifacts.emplace_back(artifact.images.begin(), artifact.images.end());
  };
  hooks.on_block = [&](const std::string& block, const Frame& frame) {
    if (block != "export_latents") return;
    if (const auto* latents = frame.peek<Tensor>("latents")) made.latents = *latents;
  };
  hooks.progress = [&](const RunProgress& at) {
    Raised::guard_callback([&] {
      let_signals_in();
      if (!callbacks.on_progress.is_none())
        callbacks.on_progress(to_string(at.stage), at.loop.step, at.loop.steps);
    });
  };
  if (!callbacks.on_step.is_none()) {
    hooks.on_step = [&](const LoopProgress& at, const Tensor& latents) {
      Raised::guard_callback(
          [&] { callbacks.on_step(at.step, at.steps, at.timestep, to_torch(latents)); });
    };
  }
  if (!callbacks.on_preview.is_none()) {
    hooks.on_preview = [&](const LoopProgress& at, const PreviewImage& preview) {
      Raised::guard_callback(
          [&] { callbacks.on_preview(at.step, at.steps, preview.place, to_array(preview.image)); });
    };
  }
  return hooks;
}

[[noreturn]] void raise_interrupt() {
  let_signals_in();
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw nb::python_error();
}

// Whatever ended the run, as Python is to see it.
[[noreturn]] void raise(const std::exception_ptr& thrown, const Raised& raised,
                        const RunReport& report, bool interrupted) {
  raised.rethrow();
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled& cancelled) {
    if (interrupted) raise_interrupt();
    raise_error(cancelled, &report);
  } catch (const Error& error) {
    raise_error(error, &report);
  }
}

}  // namespace

nb::tuple run(Session& session, const RunCall& call, const Callbacks& callbacks) {
  RunReport report;
  Made made;
  Raised raised;
  std::exception_ptr thrown;
  bool interrupted = false;
  {
    std::optional<InterruptsRun> interrupts;
    if (call.on_main_thread) interrupts.emplace(*call.cancel);
    nb::gil_scoped_release unlocked;
    try {
      session.engine().run(call.request, {.strict = call.strict, .files = Files::named_only},
                           hooks_of(call, callbacks, made), report);
    } catch (...) {
      thrown = std::current_exception();
    }
    interrupted = interrupts && interrupts->came();
  }
  if (thrown) raise(thrown, raised, report, interrupted);
  nb::list artifacts;
  for (auto& images : made.artifacts) {
    nb::list frames;
    for (io::Image& image : images) frames.append(to_array(std::move(image)));
    artifacts.append(frames);
  }
  return nb::make_tuple(report.to_json().dump(), artifacts, to_torch(made.latents));
}

}  // namespace omnirt::python
