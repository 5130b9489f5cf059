#include "guiders/classifier_free_guidance.hpp"

#include <ATen/ops/std.h>

#include "base/config.hpp"
#include "base/ensure.hpp"

namespace omnirt {
namespace {

// Standard deviation of each picture's prediction, {n, 1, ...}.
Tensor spread(const Tensor& x) {
  std::vector<int64_t> dims;
  for (int64_t d = 1; d < x.dim(); ++d) dims.push_back(d);
  return at::std(x, at::IntArrayRef(dims), /*unbiased=*/true, /*keepdim=*/true);
}

GuidanceConfig checked(const Json& json) {
  auto config = read_config<GuidanceConfig>(json, "guider");
  auto refuse = [&](const char* field, double value, const char* limit) {
    throw InvalidRequest(
        {std::string("guider.") + field, std::to_string(value), "out of range", limit});
  };
  if (config.guidance_scale < 0 || config.guidance_scale > 100) {
    refuse("guidance_scale", config.guidance_scale, "give 0 to 100");
  }
  if (config.guidance_rescale < 0 || config.guidance_rescale > 1) {
    refuse("guidance_rescale", config.guidance_rescale, "give 0 to 1");
  }
  return config;
}

}  // namespace

std::vector<Condition> ClassifierFreeGuidance::conditions() const {
  std::vector<Condition> all{{"cond", {}}};
  if (guided()) all.push_back({"uncond", {{"prompt", "negative_prompt"}}});
  return all;
}

std::vector<std::string> ClassifierFreeGuidance::active(size_t /*index*/, size_t /*steps*/) const {
  return guided() ? std::vector<std::string>{"cond", "uncond"} : std::vector<std::string>{"cond"};
}

Tensor ClassifierFreeGuidance::combine(const Predictions& predictions) const {
  const Tensor& cond = predictions.at("cond");
  if (!guided()) return cond;
  const Tensor& uncond = predictions.at("uncond");
  Tensor guided = uncond + config_.guidance_scale * (cond - uncond);
  if (config_.guidance_rescale == 0.0) return guided;
  Tensor rescaled = guided * (spread(cond) / spread(guided));
  return config_.guidance_rescale * rescaled + (1 - config_.guidance_rescale) * guided;
}

GuiderInfo classifier_free_guidance_info() {
  return {
      "cfg", "classifier-free guidance, with rescale", config_names<GuidanceConfig>(),
      [](const Json& config) { return std::make_unique<ClassifierFreeGuidance>(checked(config)); }};
}

GuiderInfo no_guidance_info() {
  return {"none", "one forward a step, no guidance", {}, [](const Json& config) {
            if (!config.empty()) {
              throw InvalidRequest(
                  {"guider", shown(config), "type 'none' takes no settings", "remove them"});
            }
            return std::make_unique<ClassifierFreeGuidance>(GuidanceConfig{1.0, 0.0});
          }};
}

}  // namespace omnirt
