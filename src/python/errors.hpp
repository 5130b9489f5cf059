#pragma once
#include <c10/core/InferenceMode.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <optional>
#include <string>

#include "base/cancel.hpp"
#include "base/report.hpp"
#include "tensor/host_state.hpp"

namespace omnirt::python {

namespace nb = nanobind;

// From here on errors of this project are raised as the classes of omnirt.errors.
void translate_errors();

// Raises `error` with its findings and, where there is one, the run's report. The caller holds the
// GIL.
[[noreturn]] void raise_error(const Error& error, const RunReport* report = nullptr);

// What ends a run whose Python code has raised. Of the class that no level falls back for: the
// same code would raise again.
class EndedByPython final : public Cancelled {
 public:
  using Cancelled::Cancelled;
};

// The exception of Python code that ended a run, kept while native frames are unwound, so that it
// comes out as it was raised. One per run, found by the thread that works for the run.
class Raised {
 public:
  Raised();
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;
  ~Raised();

  // Throws what was kept, if anything was. The caller holds the GIL.
  void rethrow() const;
  static Raised* current();

  // Runs a part of the run that is written in Python, under the GIL. What Python raises in it is
  // kept, and thrown as EndedByPython; the first is kept of several. Modes that the caller has
  // switched on, such as autocast, hold in it; autograd does not.
  template <class Code>
  static auto guard(Code&& code) {
    const bool inference = c10::InferenceMode::is_enabled();
    const HostScope as_the_caller;
    std::optional<c10::InferenceMode> no_autograd;
    if (inference) no_autograd.emplace();
    return kept_if_raised(code);
  }
  // The same for the caller's own code, which runs in all of the caller's modes.
  template <class Code>
  static auto guard_callback(Code&& code) {
    const HostScope as_the_caller;
    return kept_if_raised(code);
  }

 private:
  template <class Code>
  static auto kept_if_raised(Code&& code) {
    nb::gil_scoped_acquire gil;
    try {
      return code();
    } catch (nb::python_error& error) {
      keep(said(error));
    } catch (nb::builtin_exception& error) {
      keep(error.what());
    } catch (nb::cast_error&) {
      keep_cast_error();
    }
    // Not reached: keep throws.
    throw EndedByPython("");
  }

  static std::string said(nb::python_error& error);
  // Within the handler of what Python raised.
  [[noreturn]] static void keep(const std::string& what);
  [[noreturn]] static void keep_cast_error();

  Raised* outer_;
  std::exception_ptr kept_;
};

}  // namespace omnirt::python
