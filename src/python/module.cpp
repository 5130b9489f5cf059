// omnirt._native: what the Python package (python/omnirt) is written over. Requests, findings,
// declarations and reports cross as JSON, tensors and images as arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <torch/headeronly/version.h>

#include "catalogue/make_session.hpp"
#include "engine/engine.hpp"
#include "engine/session.hpp"
#include "pipeline/plan.hpp"
#include "python/block.hpp"
#include "python/catalogue.hpp"
#include "python/errors.hpp"
#include "python/run.hpp"
#include "python/values.hpp"
#include "request/request_text.hpp"

namespace nb = nanobind;

namespace omnirt::python {
namespace {

Json key_json(const KeyInfo& key) {
  static const char* types[] = {"boolean", "integer", "number", "text", "list", "object"};
  Json json = {{"name", key.name},
               {"type", types[static_cast<int>(key.type)]},
               {"default", key.fallback_json()},
               {"help", key.help},
               {"choices", key.choice_list()}};
  if (key.min > -1e300) json["min"] = key.min;
  if (key.max < 1e300) json["max"] = key.max;
  return json;
}

// Every input that some block of this build takes from a request: {name: {type, help}}.
std::string inputs_of(Session& session) {
  Json all = Json::object();
  for (const Family& family : session.engine().catalogue().families) {
    for (const auto& block : family.blocks) {
      for (const PortInfo& port : block->ports()) {
        const bool read = port.kind == PortInfo::Kind::input ||
                          port.kind == PortInfo::Kind::inout ||
                          port.kind == PortInfo::Kind::optional_input;
        if (read && port.codec && is_request_type(port.type) && !all.contains(port.name))
          all[port.name] = {{"type", port.codec->type}, {"help", port.help}};
      }
    }
  }
  return all.dump();
}

std::string keys_of(const Session& session) {
  Json all = Json::array();
  for (const KeyInfo* key : session.keys()) all.push_back(key_json(*key));
  return all.dump();
}

GenerateRequest request_of(const std::string& text, const CallValues& values) {
  GenerateRequest request = parse_request_text(text, "request");
  request.given = values.given();
  return request;
}

std::string check(Session& session, const std::string& request, const CallValues& values,
                  bool strict) {
  const GenerateRequest read = request_of(request, values);
  nb::gil_scoped_release unlocked;
  return session.check(read, strict, Files::named_only).to_json().dump();
}

nb::tuple run_call(Session& session, const std::string& request, const CallValues& values,
                   bool strict, bool on_main_thread, const std::shared_ptr<CancelToken>& cancel,
                   const nb::object& on_progress, const nb::object& on_step,
                   const nb::object& on_preview) {
  return run(session,
             {.request = request_of(request, values),
              .strict = strict,
              .on_main_thread = on_main_thread,
              .cancel = cancel},
             {on_progress, on_step, on_preview});
}

void bind_session(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Session>(m, "Session")
      .def("check", check, "request"_a, "values"_a, "strict"_a)
      .def("run", run_call, "request"_a, "values"_a, "strict"_a, "on_main_thread"_a, "cancel"_a,
           "on_progress"_a.none(), "on_step"_a.none(), "on_preview"_a.none())
      .def("keys", keys_of)
      .def("inputs", inputs_of)
      .def("models", [](const Session& s) { return s.models().dump(); })
      .def("models_here", [](const Session& s) { return s.models_here().dump(); })
      .def("backends", [](const Session& s) { return s.backends().dump(); })
      .def(
          "model", [](const Session& s, const std::string& id) { return s.model(id).dump(); },
          "model"_a)
      .def(
          "blocks",
          [](const Session& s, const std::string& id, const std::string& task) {
            return s.blocks(id, task).dump();
          },
          "id"_a, "task"_a)
      .def(
          "describe_networks",
          [](const Session& s, const std::string& path) {
            return s.describe_networks(path).dump();
          },
          "path"_a)
      .def("graph", &Session::graph, "id"_a, "task"_a, "format"_a);
  m.def("make_session", [] { return std::shared_ptr<Session>(make_session()); });
}

}  // namespace
}  // namespace omnirt::python

// NOLINTNEXTLINE(readability-identifier-naming): nanobind's macro names its function.
NB_MODULE(_native, m) {
  using namespace omnirt;
  nb::set_leak_warnings(false);
  python::translate_errors();
  m.attr("torch_version") = TORCH_VERSION;
  nb::class_<CancelToken>(m, "CancelToken",
                          "Ends the runs that it is given to, within a step: `cancel()` from any "
                          "thread.")
      .def(nb::init<>())
      .def("cancel", &CancelToken::cancel)
      .def_prop_ro("cancelled", &CancelToken::cancelled);
  m.def("limit_threads", &limit_threads, nb::arg("count"));
  m.def(
      "inspect", [](const std::string& path) { return inspect(path).dump(); }, nb::arg("path"));
  python::bind_values(m);
  python::bind_session(m);
  python::bind_blocks(m);
  python::bind_catalogue(m);
}
