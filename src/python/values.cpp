#include "python/values.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/arrays.hpp"
#include "tensor/generator.hpp"

namespace omnirt::python {
namespace {

Tensor numbers(nb::handle array, const std::string& what) {
  Tensor values = from_array(array, what);
  if (values.scalar_type() != at::kFloat)
    throw nb::type_error((what + ": numbers in fp32 are expected").c_str());
  return values;
}

// Of a CPU generator of torch (CPUGeneratorImpl's legacy layout).
constexpr int64_t state_bytes = 5056;

}  // namespace

size_t CallValues::add_image(nb::handle array, const std::string& what) {
  given_->images.push_back(std::make_shared<const io::Image>(image_of(array, what)));
  return given_->images.size() - 1;
}

size_t CallValues::add_latents(nb::handle array, const std::string& what) {
  given_->latents.push_back(
      std::make_shared<const GivenLatents>(GivenLatents{numbers(array, what)}));
  return given_->latents.size() - 1;
}

size_t CallValues::add_embeds(const nb::dict& arrays, const std::string& what) {
  GivenEmbeds made;
  for (auto [name, array] : arrays) {
    std::string key = nb::cast<std::string>(name);
    made.tensors[key] = numbers(array, fmt::format("{}.{}", what, key));
  }
  given_->embeds.push_back(std::make_shared<const GivenEmbeds>(std::move(made)));
  return given_->embeds.size() - 1;
}

void CallValues::set_generators(nb::handle states) {
  Tensor all = from_array(states, "generator");
  if (all.scalar_type() != at::kByte || all.dim() != 2 || all.size(0) < 1 ||
      all.size(1) != state_bytes)
    throw nb::type_error("generator: states of torch's CPU generators are expected");
  given_->noise = std::make_shared<Noise>(Noise::from_state(all.contiguous()));
}

nb::object CallValues::generators() const {
  return given_->noise ? to_torch(given_->noise->state()) : nb::none();
}

void bind_values(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CallValues>(m, "Values")
      .def(nb::init<>())
      .def("add_image", &CallValues::add_image, "array"_a, "what"_a)
      .def("add_latents", &CallValues::add_latents, "array"_a, "what"_a)
      .def("add_embeds", &CallValues::add_embeds, "arrays"_a, "what"_a)
      .def("set_generators", &CallValues::set_generators, "states"_a)
      .def("generators", &CallValues::generators);
}

}  // namespace omnirt::python
