#include "guiders/maths.hpp"
#include "guiders/two_predictions.hpp"

namespace omnirt {
namespace {

constexpr const char* weaker_network = "guide_network";

class AutoGuidance final : public TwoPredictionGuider {
 public:
  explicit AutoGuidance(GuidanceConfig config)
      : TwoPredictionGuider("autoguidance", config, {.name = "guide", .network = weaker_network}) {}

 protected:
  Tensor combined(const Tensor& cond, const Tensor& other, GuidanceStep&) const override {
    return guided(cond, other, config_.guidance_scale);
  }
};

}  // namespace

// Guidance away from a weaker network under the same prompt (Karras et al. 2024, arXiv 2406.02507).
GuiderInfo auto_guidance_info() {
  return {"autoguidance",
          "guidance away from a weaker network of the same model (components.guide_network)",
          guidance_keys(),
          [](const Json& json) {
            ConfigValues values = read_guider_settings(json, guidance_keys());
            return std::make_unique<AutoGuidance>(guidance_config(values));
          },
          {weaker_network}};
}

}  // namespace omnirt
