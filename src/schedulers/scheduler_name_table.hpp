#pragma once
#include <span>
#include <string_view>

namespace omnirt {

// Names of samplers: `names` with | between them, the first is the one that is suggested; the class
// that each means, the settings that it implies as JSON, and the class of the same method for
// models of flow matching.
struct SamplerName {
  std::string_view names;
  std::string_view class_name;
  std::string_view settings = "{}";
  std::string_view flow_class = "";
};
std::span<const SamplerName> sampler_names();

// Names of sigma schedules. `needs`: the key that a scheduler must have for it; what is set in
// addition is left out where a scheduler does not have it. `flow_has_it`: what flow-matching
// schedulers do without any setting.
struct SigmaScheduleName {
  std::string_view names;
  std::string_view needs;
  std::string_view settings;
  bool flow_has_it = false;
};
std::span<const SigmaScheduleName> sigma_schedule_names();

// Names of samplers and of sigma schedules that diffusers has no equal of, and what is nearest.
struct MissingName {
  std::string_view names;
  std::string_view nearest;
};
std::span<const MissingName> missing_names();

}  // namespace omnirt
