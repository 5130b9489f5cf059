#include <ATen/TensorOperators.h>

#include "base/ensure.hpp"
#include "guiders/maths.hpp"
#include "guiders/two_predictions.hpp"

namespace omnirt {
namespace {

constexpr Key<double> momentum{
    "momentum",
    0.0,
    {-1, 1},
    "",
    "share of the last call's difference that is added to this one's; negative: it is avoided"};
constexpr Key<double> norm_threshold{
    "norm_threshold", 15.0, {0, 1e6}, "", "the difference is cut to this length; 0: not"};
constexpr Key<double> eta{
    "eta", 1.0, {-100, 100}, "", "share of the difference's part along cond; 0 leaves it out"};

struct ApgConfig {
  GuidanceConfig guidance;
  double momentum = 0;
  double norm_threshold = 15;
  double eta = 1;
};

Tensor norm_by_image(const Tensor& x) {
  return sum_by_image(x.square()).sqrt();
}

// uncond + scale (orthogonal + eta parallel), the parts of the difference cond - uncond across and
// along cond (algorithm 1). It works on the network's predictions, as diffusers does; the paper on
// predicted images.
class AdaptiveProjectedGuidance final : public TwoPredictionGuider {
 public:
  explicit AdaptiveProjectedGuidance(const ApgConfig& config)
      : TwoPredictionGuider("apg", config.guidance, unconditional()), apg_(config) {}

 protected:
  Tensor combined(const Tensor& cond, const Tensor& other, GuidanceStep& step) const override {
    Tensor difference = averaged(cond - other, step);
    if (apg_.norm_threshold > 0) {
      Tensor shrink = (apg_.norm_threshold / norm_by_image(difference)).clamp_max(1.0);
      difference = difference * shrink;
    }
    Tensor along = cond.to(at::kDouble);
    along = along / norm_by_image(along).clamp_min(1e-12);
    Tensor wide = difference.to(at::kDouble);
    Tensor parallel = sum_by_image(wide * along) * along;
    Tensor update =
        (wide - parallel).to(cond.scalar_type()) + apg_.eta * parallel.to(cond.scalar_type());
    return other + config_.guidance_scale * update;
  }

 private:
  Tensor averaged(Tensor difference, const GuidanceStep& step) const {
    if (apg_.momentum == 0) return difference;
    ensure(step.state != nullptr, "guidance with momentum was given no state to keep it in");
    Tensor& running = (*step.state)["apg.difference"];
    running = running.defined() ? difference + apg_.momentum * running : difference;
    return running;
  }
  ApgConfig apg_;
};

}  // namespace

// Adaptive projected guidance (Sadat et al. 2024, arXiv 2410.02416).
GuiderInfo adaptive_projected_guidance_info() {
  auto keys = with_guidance_keys({&momentum, &norm_threshold, &eta});
  return {"apg", "adaptive projected guidance: strong guidance without oversaturation", keys,
          [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            return std::make_unique<AdaptiveProjectedGuidance>(
                ApgConfig{guidance_config(values), values.get(momentum), values.get(norm_threshold),
                          values.get(eta)});
          }};
}

}  // namespace omnirt
