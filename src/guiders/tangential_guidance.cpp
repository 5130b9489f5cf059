#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "guiders/maths.hpp"
#include "guiders/two_predictions.hpp"

namespace omnirt {
namespace {

// uncond's part along the first right singular vector of [cond; uncond], image by image: what is
// orthogonal to it (the tangential part) is dropped. The vector is a cond + b uncond, where (a, b)
// is the first eigenvector of their 2x2 Gram matrix, so no decomposition of long rows is needed.
Tensor along_first_singular_vector(const Tensor& cond, const Tensor& uncond) {
  Tensor c = cond.to(at::kDouble), u = uncond.to(at::kDouble);
  Tensor cc = sum_by_image(c.square()), uu = sum_by_image(u.square()), cu = sum_by_image(c * u);
  Tensor half = (cc - uu) / 2, root = (half.square() + cu.square()).sqrt();
  // (root + half, cu) and (cu, root - half) are both it; the one that does not cancel is taken.
  Tensor a = at::where(half >= 0, root + half, cu), b = at::where(half >= 0, cu, root - half);
  Tensor vector = a * c + b * u;
  Tensor share = sum_by_image(u * vector) / sum_by_image(vector.square()).clamp_min(1e-300);
  return (share * vector).to(uncond.scalar_type());
}

class TangentialGuidance final : public TwoPredictionGuider {
 public:
  explicit TangentialGuidance(GuidanceConfig config)
      : TwoPredictionGuider("tcfg", config, unconditional()) {}

 protected:
  Tensor combined(const Tensor& cond, const Tensor& other, GuidanceStep&) const override {
    return guided(cond, along_first_singular_vector(cond, other), config_.guidance_scale);
  }
};

}  // namespace

// Tangential damping (Kwon et al. 2025, arXiv 2503.18137).
GuiderInfo tangential_guidance_info() {
  return {"tcfg", "classifier-free guidance, uncond's tangential part dropped", guidance_keys(),
          [](const Json& json) {
            ConfigValues values = read_guider_settings(json, guidance_keys());
            return std::make_unique<TangentialGuidance>(guidance_config(values));
          }};
}

}  // namespace omnirt
