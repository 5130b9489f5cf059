#include <algorithm>

#include "guiders/guider.hpp"

namespace omnirt {

// A guider is one file that defines a function of its name, and one line here.
#define OMNIRT_GUIDERS(entry)                                                                \
  entry(no_guidance_info) entry(classifier_free_guidance_info) entry(rescaled_guidance_info) \
      entry(guidance_interval_info) entry(cfg_zero_star_info)                                \
          entry(adaptive_projected_guidance_info) entry(tangential_guidance_info)            \
              entry(perturbed_attention_guidance_info) entry(skip_layer_guidance_info)       \
                  entry(smoothed_energy_guidance_info) entry(auto_guidance_info)             \
                      entry(frame_guidance_info) entry(true_guidance_info)                   \
                          entry(original_guidance_info) entry(skipped_guidance_info)         \
                              entry(row_guidance_info)

// The one macro of this folder: a function cannot declare the functions that it then calls.
#define OMNIRT_DECLARE(name) GuiderInfo name();
#define OMNIRT_CALL(name) name(),
OMNIRT_GUIDERS(OMNIRT_DECLARE)

const std::vector<GuiderInfo>& all_guiders() {
  static const std::vector<GuiderInfo> all{OMNIRT_GUIDERS(OMNIRT_CALL)};
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
