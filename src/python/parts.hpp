#pragma once
#include <nanobind/nanobind.h>

#include "pipeline/model_spec.hpp"

// What else of a pipeline can be written in Python. Each `spec` is JSON as the package makes it;
// objects are called under the GIL, on the thread of the run.
namespace omnirt::python {

namespace nb = nanobind;

// {"type", "summary", "keys"}; `make(settings as JSON)` gives an object with conditions(),
// active(step) and combine(predictions, step).
GuiderInfo make_guider(const Json& spec, nb::object make);

// {"class_name", "short_names", "config_keys", "summary", "made_for"}; `make(config as JSON)` gives
// an object with plan(steps), init_noise_sigma(), scale_model_input, step and add_noise.
SchedulerInfo make_scheduler(const Json& spec, nb::object make);

// A class of denoisers whose predictions `module` makes, called with the inputs of `original` by
// name. It is configured as the original is, and has none of its parameters.
nn::NetworkInfo make_network(const nn::NetworkInfo& original, nb::object module);

}  // namespace omnirt::python
