#include "guiders/true_guidance.hpp"

#include "guiders/classifier_free_guidance.hpp"

namespace omnirt {

// Classifier-free guidance under the name that it has where "guidance_scale" is an input of the
// network (reference: true_cfg_scale of FluxPipeline).
GuiderInfo true_guidance_info() {
  static const std::vector<const KeyInfo*> keys{&guider_keys::true_cfg_scale};
  return {"true_cfg", "classifier-free guidance of models that were distilled of guided ones", keys,
          [](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            GuidanceConfig config{.guidance_scale = values.get(guider_keys::true_cfg_scale)};
            return std::make_unique<ClassifierFreeGuidance>(config, SigmaRange{}, "true_cfg");
          }};
}

}  // namespace omnirt
