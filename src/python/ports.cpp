#include "python/ports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>

#include "base/nearest.hpp"
#include "pipeline/latents_file.hpp"
#include "pipeline/schedule.hpp"
#include "python/arrays.hpp"

namespace omnirt::python {
namespace {

// How a type of value is seen from Python.
template <class T>
struct Crossing {
  static nb::object out(const T& value) { return nb::cast(value); }
  static T in(nb::handle value, const std::string&) { return nb::cast<T>(value); }
};
template <>
struct Crossing<Tensor> {
  static nb::object out(const Tensor& value) { return to_torch(value); }
  static Tensor in(nb::handle value, const std::string& what) { return from_array(value, what); }
};
template <>
struct Crossing<GivenLatents> {
  static nb::object out(const GivenLatents& value) { return to_torch(value.values); }
  static GivenLatents in(nb::handle value, const std::string& what) {
    return {from_array(value, what)};
  }
};
template <>
struct Crossing<io::Image> {
  static nb::object out(const io::Image& value) { return to_array(value); }
  static io::Image in(nb::handle value, const std::string& what) { return image_of(value, what); }
};
template <>
struct Crossing<std::vector<io::Image>> {
  static nb::object out(const std::vector<io::Image>& value) {
    nb::list all;
    for (const io::Image& each : value) all.append(to_array(each));
    return all;
  }
  static std::vector<io::Image> in(nb::handle value, const std::string& what) {
    std::vector<io::Image> all;
    for (nb::handle each : value) all.push_back(image_of(each, what));
    return all;
  }
};

// Noise as Python draws from it: called with a shape {n, ...}.
struct NoiseSource {
  std::shared_ptr<Noise> noise;

  nb::object draw(const std::vector<int64_t>& shape) const {
    if (shape.empty() || (noise->size() > 1 && shape[0] != static_cast<int64_t>(noise->size())))
      throw nb::value_error(
          fmt::format("noise for {} images is drawn as {{{}, ...}}", noise->size(), noise->size())
              .c_str());
    return to_torch(noise->randn(shape));
  }
};
template <>
struct Crossing<std::shared_ptr<Noise>> {
  static nb::object out(const std::shared_ptr<Noise>& value) {
    return nb::cast(NoiseSource{value});
  }
  static std::shared_ptr<Noise> in(nb::handle, const std::string& what) {
    throw nb::type_error((what + ": generators are not made in Python").c_str());
  }
};

// The planned scheduler as a denoise loop's blocks use it: calls are counted from the run's first.
struct ScheduleOfRun {
  Schedule schedule;

  size_t call(size_t i) const {
    if (i < schedule.last() - schedule.begin) return schedule.begin + i;
    throw nb::index_error(
        fmt::format("step {} of a run of {}", i, schedule.last() - schedule.begin).c_str());
  }
  std::vector<double> timesteps() const {
    const auto& all = schedule.scheduler->timesteps();
    return {all.begin() + static_cast<std::ptrdiff_t>(schedule.begin),
            all.begin() + static_cast<std::ptrdiff_t>(schedule.last())};
  }
  nb::object scale_model_input(nb::handle sample, size_t i) const {
    return to_torch(schedule.scheduler->scale_model_input(from_array(sample, "sample"), call(i)));
  }
  nb::tuple step(nb::handle output, size_t i, nb::handle sample, const NoiseSource& noise) const {
    Tensor from = from_array(sample, "sample"), predicted = from_array(output, "prediction");
    if (predicted.sizes() != from.sizes() || predicted.scalar_type() != at::kFloat ||
        from.scalar_type() != at::kFloat)
      throw nb::value_error("step(): a prediction and a sample of one shape in fp32 are expected");
    StepResult made = schedule.scheduler->step(predicted, call(i), from, *noise.noise);
    return nb::make_tuple(to_torch(made.prev_sample),
                          to_torch(made.pred_original.value_or(Tensor())));
  }
  nb::object add_noise(nb::handle original, nb::handle noise, size_t i) const {
    return to_torch(schedule.scheduler->add_noise(from_array(original, "original"),
                                                  from_array(noise, "noise"), call(i)));
  }
};
template <>
struct Crossing<Schedule> {
  static nb::object out(const Schedule& value) { return nb::cast(ScheduleOfRun{value}); }
  static Schedule in(nb::handle value, const std::string&) {
    return nb::cast<const ScheduleOfRun&>(value).schedule;
  }
};

[[noreturn]] void read_only(const std::string& name) {
  throw nb::attribute_error(
      fmt::format("'{}' is an input of the block; what it writes is an Output or InOut", name)
          .c_str());
}

template <class T>
class InputPort final : public ValuePort {
 public:
  InputPort(Block* block, const std::string& name, const std::string& help,
            std::vector<std::string> shape)
      : port_(block, name, help, std::move(shape)) {}
  const std::string& name() const override { return port_.name(); }
  nb::object get(Frame& frame) const override { return Crossing<T>::out(frame[port_]); }
  void set(Frame&, nb::handle) const override { read_only(port_.name()); }

 private:
  Input<T> port_;
};

template <class T>
class OptionalPort final : public ValuePort {
 public:
  OptionalPort(Block* block, const std::string& name, const std::string& help,
               std::vector<std::string> shape)
      : port_(block, name, help, std::move(shape)) {}
  const std::string& name() const override { return port_.name(); }
  nb::object get(Frame& frame) const override {
    const T* value = frame[port_];
    return value ? Crossing<T>::out(*value) : nb::none();
  }
  void set(Frame&, nb::handle) const override { read_only(port_.name()); }

 private:
  OptionalInput<T> port_;
};

template <class T, template <class> class Kind>
class WrittenPort final : public ValuePort {
 public:
  WrittenPort(Block* block, const std::string& name, const std::string& help,
              std::vector<std::string> shape)
      : port_(block, name, help, std::move(shape)) {}
  const std::string& name() const override { return port_.name(); }
  nb::object get(Frame& frame) const override { return Crossing<T>::out(frame[port_]); }
  void set(Frame& frame, nb::handle value) const override {
    frame[port_] = Crossing<T>::in(value, port_.name());
  }

 private:
  Kind<T> port_;
};

struct PortType {
  using Make = std::unique_ptr<ValuePort> (*)(Block* block, const std::string& name,
                                              const std::string& help,
                                              std::vector<std::string> shape);
  std::map<std::string, Make> kinds;
};

template <class Port>
std::unique_ptr<ValuePort> made(Block* block, const std::string& name, const std::string& help,
                                std::vector<std::string> shape) {
  return std::make_unique<Port>(block, name, help, std::move(shape));
}

template <class T>
PortType type() {
  return {{{"input", &made<InputPort<T>>},
           {"optional_input", &made<OptionalPort<T>>},
           {"output", &made<WrittenPort<T, Output>>},
           {"inout", &made<WrittenPort<T, InOut>>}}};
}

const std::map<std::string, PortType>& types() {
  static const std::map<std::string, PortType> all{
      {"tensor", type<Tensor>()},
      {"image", type<io::Image>()},
      {"images", type<std::vector<io::Image>>()},
      {"texts", type<std::vector<std::string>>()},
      {"text", type<std::string>()},
      {"seeds", type<std::vector<uint64_t>>()},
      {"integers", type<std::vector<int64_t>>()},
      {"numbers", type<std::vector<double>>()},
      {"number", type<double>()},
      {"integer", type<int64_t>()},
      {"noise", type<std::shared_ptr<Noise>>()},
      {"schedule", type<Schedule>()},
      {"latents", type<GivenLatents>()},
  };
  return all;
}

template <class T>
KeyInfo::Fallback fallback_of(const Json& value, std::string& text) {
  if (value.is_null()) return std::monostate{};
  if constexpr (std::is_same_v<T, std::string>) {
    text = value.get<std::string>();
    return text.c_str();
  } else {
    return value.get<T>();
  }
}

// A key and the texts that it points to, in the order in which they are needed.
template <class T>
class KeyOf final : public OwnedKey {
 public:
  explicit KeyOf(const Json& spec)
      : name_(spec.at("name")),
        help_(spec.value("help", "")),
        choices_(spec.value("choices", std::vector<std::string>())),
        key(name_.c_str(), fallback_of<T>(spec.at("default"), text_),
            {spec.value("min", -std::numeric_limits<double>::infinity()),
             spec.value("max", std::numeric_limits<double>::infinity())},
            "", help_.c_str()) {
    for (const std::string& each : choices_) names_.push_back(each.c_str());
    key.names = names_.empty() ? nullptr : names_.data();
    key.name_count = names_.size();
  }
  const KeyInfo& info() const override { return key; }

 private:
  std::string name_, help_, text_;
  std::vector<std::string> choices_;
  std::vector<const char*> names_;

 public:
  Key<T> key;
};

template <class T>
class ConfigPort final : public ValuePort {
 public:
  ConfigPort(Block* block, const Json& spec) : key_(spec), port_(block, key_.key) {}
  const std::string& name() const override { return port_.name(); }
  nb::object get(Frame& frame) const override {
    auto value = frame.maybe(port_);
    return value ? nb::cast(*value) : nb::none();
  }
  void set(Frame&, nb::handle) const override { read_only(port_.name()); }

 private:
  KeyOf<T> key_;
  Config<T> port_;
};

template <template <class> class Made, class Base, class... Args>
std::unique_ptr<Base> of_key_type(const std::string& type, Args&&... args) {
  if (type == "bool") return std::make_unique<Made<bool>>(args...);
  if (type == "int") return std::make_unique<Made<int64_t>>(args...);
  if (type == "float") return std::make_unique<Made<double>>(args...);
  if (type == "str") return std::make_unique<Made<std::string>>(args...);
  throw InvalidRequest({"Config", type, "config keys are bool, int, float or str", ""});
}

}  // namespace

std::unique_ptr<OwnedKey> make_key(const Json& spec) {
  return of_key_type<KeyOf, OwnedKey>(spec.at("type").get<std::string>(), spec);
}

std::shared_ptr<const Key<int64_t>> make_integer_key(const Json& spec) {
  if (spec.at("type") != "int") {
    throw InvalidRequest({"Config", spec.at("type").get<std::string>(),
                          "a loop's count is an integer", "give omnirt.Config(int, ...)"});
  }
  auto owned = std::make_shared<KeyOf<int64_t>>(spec);
  return {owned, &owned->key};
}

void bind_values_of_ports(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<NoiseSource>(m, "Noise").def("__call__", &NoiseSource::draw, "shape"_a);
  nb::class_<ScheduleOfRun>(m, "Schedule")
      .def_prop_ro("timesteps", &ScheduleOfRun::timesteps)
      .def_prop_ro(
          "init_noise_sigma",
          [](const ScheduleOfRun& of) { return of.schedule.scheduler->init_noise_sigma(); })
      .def("scale_model_input", &ScheduleOfRun::scale_model_input, "sample"_a, "i"_a)
      .def("step", &ScheduleOfRun::step, "prediction"_a, "i"_a, "sample"_a, "noise"_a)
      .def("add_noise", &ScheduleOfRun::add_noise, "original"_a, "noise"_a, "i"_a);
}

std::unique_ptr<ValuePort> make_port(Block* block, const Json& spec) {
  const std::string kind = spec.at("kind"), name = spec.at("name"), type = spec.at("type");
  if (kind == "config") return of_key_type<ConfigPort, ValuePort>(type, block, spec);
  auto found = types().find(type);
  if (found == types().end()) {
    std::vector<std::string> known;
    for (const auto& [each, _] : types()) known.push_back(each);
    throw InvalidRequest({fmt::format("block {}.{}", block->name(), name), type,
                          fmt::format("values that blocks pass on are {}", fmt::join(known, ", ")),
                          suggest(type, known)});
  }
  auto make = found->second.kinds.find(kind);
  ensure(make != found->second.kinds.end(), "a port of kind {}", kind);
  return make->second(block, name, spec.value("help", ""),
                      spec.value("shape", std::vector<std::string>()));
}

}  // namespace omnirt::python
