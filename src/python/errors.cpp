#include "python/errors.hpp"

#include <nanobind/stl/string.h>

namespace omnirt::python {
namespace {

thread_local Raised* current_run = nullptr;

nb::object exception_of(const Error& error, const RunReport* report) {
  Json findings = Json::array();
  if (const auto* invalid = dynamic_cast<const InvalidRequest*>(&error)) {
    for (const Finding& finding : invalid->findings()) findings.push_back(to_json(finding));
  }
  return nb::module_::import_("omnirt.errors")
      .attr("error_of")(error.kind(), error.what(), findings.dump(),
                        report ? nb::cast(report->to_json().dump()) : nb::none());
}

}  // namespace

void raise_error(const Error& error, const RunReport* report) {
  nb::object made = exception_of(error, report);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      nb::object made = exception_of(error, nullptr);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    }
  });
}

Raised::Raised() : outer_(current_run) {
  current_run = this;
}

Raised::~Raised() {
  current_run = outer_;
}

Raised* Raised::current() {
  return current_run;
}

void Raised::rethrow() const {
  if (kept_) std::rethrow_exception(kept_);
}

// Without the traceback that what() has.
std::string Raised::said(nb::python_error& error) {
  std::string type = nb::type_name(error.type()).c_str();
  PyObject* text = PyObject_Str(error.value().ptr());
  if (!text) PyErr_Clear();
  return text ? type + ": " + nb::steal<nb::str>(text).c_str() : type;
}

void Raised::keep(const std::string& what) {
  if (current_run && !current_run->kept_) current_run->kept_ = std::current_exception();
  throw EndedByPython("Python code raised " + what);
}

void Raised::keep_cast_error() {
  try {
    throw nb::type_error("a value of another type than was declared");
  } catch (const nb::builtin_exception& error) {
    keep(error.what());
  }
}

}  // namespace omnirt::python
