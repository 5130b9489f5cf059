#include <ATen/ops/zeros_like.h>

#include "guiders/maths.hpp"
#include "guiders/two_predictions.hpp"

namespace omnirt {
namespace {

constexpr Key<int64_t> zero_init_steps{
    "zero_init_steps", int64_t{1}, {0, 1000}, "", "calls at the start that give zero"};

class CfgZeroStar final : public TwoPredictionGuider {
 public:
  CfgZeroStar(GuidanceConfig config, int64_t zero_steps)
      : TwoPredictionGuider("cfg_zero_star", config, unconditional()),
        zero_steps_(static_cast<size_t>(zero_steps)) {}

  std::vector<std::string> active(const GuidanceStep& step) const override {
    return zero(step) ? std::vector<std::string>{"cond"} : TwoPredictionGuider::active(step);
  }
  // Zero has no spread to be pulled anywhere.
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override {
    return zero(step) ? at::zeros_like(predictions.at("cond"))
                      : TwoPredictionGuider::combine(predictions, step);
  }

 protected:
  // uncond times <cond, uncond> / |uncond|^2, image by image (equation 5).
  Tensor combined(const Tensor& cond, const Tensor& other, GuidanceStep&) const override {
    Tensor share = sum_by_image(cond * other) / (sum_by_image(other.square()) + 1e-8);
    return guided(cond, other * share, config_.guidance_scale);
  }

 private:
  bool zero(const GuidanceStep& step) const { return step.index < zero_steps_; }
  size_t zero_steps_;
};

}  // namespace

// CFG-Zero* (Fan et al. 2025, arXiv 2503.18886): uncond is scaled to be as near to cond as it can,
// and the first zero_init_steps calls return zero.
GuiderInfo cfg_zero_star_info() {
  auto keys = with_guidance_keys({&zero_init_steps});
  return {"cfg_zero_star", "classifier-free guidance with an optimised scale and zero at first",
          keys, [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            return std::make_unique<CfgZeroStar>(guidance_config(values),
                                                 values.get(zero_init_steps));
          }};
}

}  // namespace omnirt
