#include "guiders/row_guidance.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/norm.h>

#include "guiders/classifier_free_guidance.hpp"
#include "guiders/maths.hpp"
#include "guiders/settings.hpp"

namespace omnirt {
namespace {

constexpr Key<double> row_scale{"guidance_scale",
                                4.0,
                                {0, 100},
                                "",
                                "how strongly the prompt is followed; up to 1: no guidance"};

const std::vector<const KeyInfo*>& row_keys() {
  static const std::vector<const KeyInfo*> keys{&row_scale, &guider_keys::cfg_row_normalization,
                                                &guider_keys::cfg_trunc_ratio};
  return keys;
}

// Of each row of {n, C, H, W}: {n, C, H, 1}.
Tensor length_by_row(const Tensor& x) {
  return x.norm(2, {-1}, /*keepdim=*/true);
}

}  // namespace

bool RowGuidance::guides(const GuidanceStep& step) const {
  const double done = static_cast<double>(step.index + 1) / static_cast<double>(step.steps);
  return guides() && done <= config_.cfg_trunc_ratio;
}

std::vector<Condition> RowGuidance::conditions() const {
  std::vector<Condition> all{{"cond"}};
  if (guides()) all.push_back(unconditional());
  return all;
}

std::vector<std::string> RowGuidance::active(const GuidanceStep& step) const {
  return guides(step) ? std::vector<std::string>{"cond", "uncond"}
                      : std::vector<std::string>{"cond"};
}

Tensor RowGuidance::combine(const Predictions& predictions, GuidanceStep& step) const {
  const Tensor& cond = predictions.at("cond");
  if (!guides(step)) return cond;
  Tensor result = guided(cond, predictions.at("uncond"), config_.guidance_scale);
  if (config_.cfg_normalization == 0) return result;
  return result * (length_by_row(cond) * config_.cfg_normalization / length_by_row(result));
}

GuiderInfo row_guidance_info() {
  return {"cfg_rows", "classifier-free guidance whose rows are as long as the prompt's prediction",
          row_keys(), [](const Json& json) {
            ConfigValues values = read_guider_settings(json, row_keys());
            return std::make_unique<RowGuidance>(RowGuidanceConfig{
                values.get(row_scale), values.get(guider_keys::cfg_row_normalization),
                values.get(guider_keys::cfg_trunc_ratio)});
          }};
}

}  // namespace omnirt
