#include "guiders/frame_guidance.hpp"

#include <ATen/ops/linspace.h>

#include "guiders/classifier_free_guidance.hpp"
#include "guiders/settings.hpp"

namespace omnirt {
namespace {

constexpr int64_t video_dims = 5;  // {n, F, C, h, w}

const std::vector<const KeyInfo*>& frame_keys() {
  static const std::vector<const KeyInfo*> keys{&guider_keys::min_guidance_scale,
                                                &guider_keys::max_guidance_scale};
  return keys;
}

}  // namespace

std::vector<Condition> FrameGuidance::conditions() const {
  std::vector<Condition> all{{"cond"}};
  if (guides()) all.push_back(unconditional());
  return all;
}

std::vector<std::string> FrameGuidance::active(const GuidanceStep& /*step*/) const {
  return guides() ? std::vector<std::string>{"cond", "uncond"} : std::vector<std::string>{"cond"};
}

Tensor FrameGuidance::combine(const Predictions& predictions, GuidanceStep& /*step*/) const {
  const Tensor& cond = predictions.at("cond");
  if (!guides()) return cond;
  const Tensor& uncond = predictions.at("uncond");
  if (cond.dim() != video_dims) return uncond + config_.max_guidance_scale * (cond - uncond);
  Tensor scale = at::linspace(config_.min_guidance_scale, config_.max_guidance_scale, cond.size(1),
                              cond.options());
  return uncond + scale.view({1, -1, 1, 1, 1}) * (cond - uncond);
}

GuiderInfo frame_guidance_info() {
  return {"frame_cfg", "classifier-free guidance that grows from frame to frame", frame_keys(),
          [](const Json& json) {
            ConfigValues values = read_guider_settings(json, frame_keys());
            return std::make_unique<FrameGuidance>(
                FrameGuidanceConfig{values.get(guider_keys::min_guidance_scale),
                                    values.get(guider_keys::max_guidance_scale)});
          }};
}

}  // namespace omnirt
