#pragma once
#include <nanobind/nanobind.h>

namespace omnirt::python {

namespace nb = nanobind;

// omnirt._native.Catalogue: all that this build holds, edited before a session is made of it.
void bind_catalogue(nb::module_& m);

}  // namespace omnirt::python
