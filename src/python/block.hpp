#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "python/ports.hpp"

namespace omnirt::python {

// A block whose run() is Python's. `spec`: {"name", "stage", "guidance", "ports": [...]}; `run` is
// called with the frame as the block's ports show it. Throws InvalidRequest for a spec that does
// not fit.
std::shared_ptr<const Block> make_block(const Json& spec, const Trigger& trigger, nb::object run);

// omnirt._native.Frame and Trigger.
void bind_frame(nb::module_& m);

}  // namespace omnirt::python
