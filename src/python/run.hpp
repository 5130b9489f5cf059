#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "base/cancel.hpp"
#include "engine/session.hpp"

namespace omnirt::python {

namespace nb = nanobind;

// What Python hangs on to a run; each may be None.
struct Callbacks {
  nb::object on_progress;  // (stage, step, steps)
  nb::object on_step;      // (step, steps, timestep, latents)
  nb::object on_preview;   // (step, steps, place, image)
};

// How a run is called.
struct RunCall {
  GenerateRequest request;
  bool strict = true;
  bool on_main_thread = false;  // with Python's own handler of SIGINT: an interrupt ends the run
  std::shared_ptr<CancelToken> cancel;
};

// Runs without the GIL. A tuple: the report as JSON; of each image or video what it is made of, a
// list of arrays {h, w, c} of bytes; and the latents of a run that ends with these, else None.
// Raises the errors of omnirt.errors with the report as far as
// the run came, KeyboardInterrupt, and what a callback raised.
nb::tuple run(Session& session, const RunCall& call, const Callbacks& callbacks);

}  // namespace omnirt::python
