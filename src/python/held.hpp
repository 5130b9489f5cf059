#pragma once
#include <nanobind/nanobind.h>

#include <memory>

namespace omnirt::python {

namespace nb = nanobind;

// Holds something of Python for native code, which may let go of it on any thread.
template <class T>
std::shared_ptr<T> held(T value) {
  return {new T(std::move(value)), [](T* gone) {
            if (!nb::is_alive()) return;
            nb::gil_scoped_acquire gil;
            delete gone;
          }};
}

}  // namespace omnirt::python
