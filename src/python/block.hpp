#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "python/ports.hpp"

namespace omnirt::python {

// A block of a pipeline, as Python passes it on.
struct BlockHandle {
  std::shared_ptr<const Block> block;
};

// omnirt._native.Block with what makes blocks, Frame, Schedule and Trigger:
//   make_block(spec, trigger, run): `spec` is {"name", "kind", "stage", "guidance", "ports":
//   [...]};
//     `run` is called with the frame as the block's ports show it, of a block in a loop also with
//     i and t ("denoise_part") or k ("chunk_part").
//   make_chunk_loop(spec, trigger, blocks): `spec` is {"name", "count": a config key}.
// Both throw InvalidRequest for a spec that does not fit.
void bind_blocks(nb::module_& m);

}  // namespace omnirt::python
