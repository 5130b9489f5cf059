#include <algorithm>

#include "guiders/frame_guidance.hpp"
#include "guiders/perturbed_guidance.hpp"
#include "guiders/two_predictions.hpp"

namespace omnirt {

// One line a guider.
const std::vector<GuiderInfo>& all_guiders() {
  static const std::vector<GuiderInfo> all{
      no_guidance_info(),         classifier_free_guidance_info(),
      rescaled_guidance_info(),   guidance_interval_info(),
      cfg_zero_star_info(),       adaptive_projected_guidance_info(),
      tangential_guidance_info(), perturbed_attention_guidance_info(),
      skip_layer_guidance_info(), smoothed_energy_guidance_info(),
      auto_guidance_info(),       frame_guidance_info(),
  };
  return all;
}

const GuiderInfo* find_guider(const std::string& type) {
  for (const GuiderInfo& info : all_guiders()) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

const Condition& first_of_inputs(const std::vector<Condition>& all, const Condition& condition) {
  return *std::ranges::find(all, condition.renames, &Condition::renames);
}

}  // namespace omnirt
