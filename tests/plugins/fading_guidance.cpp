#include <cmath>

#include "guiders/maths.hpp"
#include "guiders/two_predictions.hpp"
#include "pipeline/plugin.hpp"

using namespace omnirt;

constexpr Key<double> power{"power", 1.0, {0, 8}, "", "how fast guidance fades; 0: not at all"};

// Classifier-free guidance whose scale falls to 1 over the run (Wang et al. 2024, arXiv
// 2404.13040).
class FadingGuidance final : public TwoPredictionGuider {
 public:
  FadingGuidance(GuidanceConfig config, double power)
      : TwoPredictionGuider("fading", config, unconditional()), power_(power) {}

 protected:
  Tensor combined(const Tensor& cond, const Tensor& uncond, GuidanceStep& step) const override {
    double left = 1 - static_cast<double>(step.index) / static_cast<double>(step.steps);
    double scale = 1 + (config_.guidance_scale - 1) * std::pow(left, power_);
    return guided(cond, uncond, scale);  // uncond + scale * (cond - uncond)
  }

 private:
  double power_;
};

extern "C" Plugin omnirt_plugin() {
  return {.name = "fading_guidance", .add = [](Catalogue& catalogue) {
            auto keys = with_guidance_keys({&power});
            auto make = [keys](const Json& json) {
              ConfigValues values = read_guider_settings(json, keys);
              return std::make_unique<FadingGuidance>(guidance_config(values), values.get(power));
            };
            catalogue.guiders.push_back({"fading", "guidance that fades", keys, make});
          }};
}
