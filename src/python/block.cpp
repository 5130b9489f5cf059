#include "python/block.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "python/errors.hpp"
#include "python/held.hpp"

namespace omnirt::python {
namespace {

using Ports = std::vector<std::unique_ptr<ValuePort>>;

// The frame as one block's turn shows it; of no use after it.
class BlockFrame {
 public:
  BlockFrame(Frame& frame, const Ports& ports) : frame_(&frame), ports_(&ports) {}
  void end() { frame_ = nullptr; }
  nb::object get(const std::string& name) const {
    Frame& at = frame();
    return port(name).get(at);
  }
  void set(const std::string& name, nb::handle value) const {
    Frame& at = frame();
    port(name).set(at, value);
  }
  std::string condition() const { return frame().unconditional() ? "uncond" : "cond"; }

 private:
  Frame& frame() const {
    if (!frame_) throw nb::attribute_error("the block's turn is over; keep the values instead");
    return *frame_;
  }
  const ValuePort& port(const std::string& name) const {
    auto found =
        std::ranges::find_if(*ports_, [&](const auto& each) { return each->name() == name; });
    if (found == ports_->end())
      throw nb::attribute_error(fmt::format("the block declares no port '{}'", name).c_str());
    return **found;
  }

  Frame* frame_;
  const Ports* ports_;
};

template <class Enum>
Enum named(const Json& spec, const char* key,
           const std::vector<std::pair<const char*, Enum>>& all) {
  const std::string given = spec.at(key);
  std::vector<std::string> names;
  for (const auto& [name, value] : all) {
    if (given == name) return value;
    names.emplace_back(name);
  }
  throw InvalidRequest({fmt::format("block {}.{}", spec.at("name").get<std::string>(), key), given,
                        fmt::format("there is no such {}", key), suggest(given, names)});
}

Stage stage_of(const Json& spec) {
  return named<Stage>(spec, "stage",
                      {{"prepare_conditions", Stage::prepare_conditions},
                       {"prepare_latents", Stage::prepare_latents},
                       {"denoise_loop", Stage::denoise_loop},
                       {"decode", Stage::decode},
                       {"export", Stage::export_artifacts}});
}

Guidance guidance_of(const Json& spec) {
  return named<Guidance>(
      spec, "guidance", {{"shared", Guidance::shared}, {"per_condition", Guidance::per_condition}});
}

class PythonBlock final : public Block {
 public:
  PythonBlock(const Json& spec, const Trigger& trigger, nb::object run)
      : Block(spec.at("name"), stage_of(spec), guidance_of(spec), trigger),
        run_(held(std::move(run))) {
    for (const Json& each : spec.at("ports")) ports_.push_back(make_port(this, each));
  }

  void run(Frame& frame) const override {
    Raised::guard([&] {
      // Python's own object, which may outlive the turn.
      nb::object shown = nb::cast(BlockFrame(frame, ports_));
      try {
        (*run_)(shown);
      } catch (...) {
        nb::cast<BlockFrame&>(shown).end();
        throw;
      }
      nb::cast<BlockFrame&>(shown).end();
    });
  }

 private:
  std::shared_ptr<nb::object> run_;
  Ports ports_;
};

}  // namespace

std::shared_ptr<const Block> make_block(const Json& spec, const Trigger& trigger, nb::object run) {
  return std::make_shared<const PythonBlock>(spec, trigger, std::move(run));
}

void bind_frame(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<BlockFrame>(m, "Frame")
      .def("get", &BlockFrame::get, "name"_a)
      .def("set", &BlockFrame::set, "name"_a, "value"_a.none())
      .def_prop_ro("condition", &BlockFrame::condition);
  nb::class_<Trigger>(m, "Trigger")
      .def(nb::init<>())
      .def("__and__", [](const Trigger& a, const Trigger& b) { return a && b; })
      .def("__or__", [](const Trigger& a, const Trigger& b) { return a || b; })
      .def("__invert__", [](const Trigger& a) { return !a; })
      .def("__str__", &Trigger::text);
  m.def("has", &has, "input"_a);
  m.def("has_config", &has_config, "key"_a);
  m.def("has_component", &has_component, "component"_a);
  m.def("is_task", &is_task, "task"_a);
}

}  // namespace omnirt::python
