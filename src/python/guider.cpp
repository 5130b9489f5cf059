#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "guiders/settings.hpp"
#include "python/arrays.hpp"
#include "python/errors.hpp"
#include "python/held.hpp"
#include "python/parts.hpp"
#include "python/ports.hpp"

namespace omnirt::python {
namespace {

// [{"name", "renames"}] of Python's conditions().
std::vector<Condition> conditions_of(const nb::object& guider) {
  std::vector<Condition> all;
  for (nb::handle each : guider.attr("conditions")()) {
    Condition condition;
    condition.name = nb::cast<std::string>(each.attr("name"));
    condition.renames = nb::cast<std::map<std::string, std::string>>(each.attr("renames"));
    all.push_back(std::move(condition));
  }
  if (all.empty())
    throw nb::value_error("conditions(): at least one is expected, the plain one first");
  return all;
}

class PythonGuider final : public Guider {
 public:
  PythonGuider(std::string name, nb::object guider)
      : name_(std::move(name)),
        conditions_(conditions_of(guider)),
        guider_(held(std::move(guider))) {}
  std::string name() const override { return name_; }
  std::vector<Condition> conditions() const override { return conditions_; }

  std::vector<std::string> active(const GuidanceStep& step) const override {
    return Raised::guard(
        [&] { return nb::cast<std::vector<std::string>>(guider_->attr("active")(shown(step))); });
  }

  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override {
    return Raised::guard([&] {
      nb::dict given;
      for (const auto& [name, prediction] : predictions) given[name.c_str()] = to_torch(prediction);
      Tensor made = from_array(guider_->attr("combine")(given, shown(step)), name_ + ".combine()");
      const Tensor& like = predictions.begin()->second;
      if (made.sizes() != like.sizes() || made.scalar_type() != like.scalar_type())
        throw nb::value_error("combine(): a tensor of the predictions' shape and type is expected");
      return made;
    });
  }

 private:
  // What a guider keeps between the steps of a run is in the run.
  static nb::object shown(const GuidanceStep& step) {
    nb::object made = nb::module_::import_("omnirt.parts")
                          .attr("GuidanceStep")(step.index, step.steps, step.timestep, step.sigma,
                                                to_torch(step.sample));
    GuiderState* state = step.state;
    if (!state) return made;
    made.attr("_get") = nb::cpp_function([state](const std::string& name) {
      auto found = state->find(name);
      return found == state->end() ? nb::none() : to_torch(found->second);
    });
    made.attr("_set") = nb::cpp_function([state](const std::string& name, nb::handle value) {
      (*state)[name] = from_array(value, name);
    });
    return made;
  }

  std::string name_;
  std::vector<Condition> conditions_;
  std::shared_ptr<nb::object> guider_;
};

}  // namespace

GuiderInfo make_guider(const Json& spec, nb::object make) {
  auto keys = std::make_shared<std::vector<std::unique_ptr<OwnedKey>>>();
  std::vector<const KeyInfo*> infos;
  for (const Json& each : spec.at("keys")) {
    keys->push_back(make_key(each));
    infos.push_back(&keys->back()->info());
  }
  const std::string type = spec.at("type");
  auto maker = held(std::move(make));
  return {type, spec.value("summary", ""), infos, [type, infos, keys, maker](const Json& json) {
            const ConfigValues values = read_guider_settings(json, infos);
            Json settings = Json::object();
            for (const auto& [name, value] : values.all()) settings[name] = value.value;
            return Raised::guard([&]() -> std::unique_ptr<Guider> {
              return std::make_unique<PythonGuider>(type, (*maker)(settings.dump()));
            });
          }};
}

}  // namespace omnirt::python
