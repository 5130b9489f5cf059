#include "guiders/classifier_free_guidance.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "guiders/maths.hpp"

namespace omnirt {
namespace {

constexpr Key<double> strong_rescale{
    "guidance_rescale", 0.7, {0, 1}, "", "pulls the spread of the result back to that of cond"};
constexpr Key<double> sigma_min{
    "sigma_min",
    std::monostate{},
    {0, std::numeric_limits<double>::infinity()},
    "",
    "guidance holds at noise levels (noise over signal) above this; unset: down to 0"};
constexpr Key<double> sigma_max{"sigma_max",
                                std::monostate{},
                                {0, std::numeric_limits<double>::infinity()},
                                "",
                                "guidance holds at noise levels up to this; unset: any"};

SigmaRange sigma_range(const ConfigValues& values) {
  SigmaRange range;
  range.min = values.maybe(sigma_min).value_or(range.min);
  range.max = values.maybe(sigma_max).value_or(range.max);
  if (range.min > range.max) {
    throw InvalidRequest({"guider.sigma_min", fmt::format("{}", range.min),
                          fmt::format("greater than sigma_max, {}", range.max),
                          "give sigma_min <= sigma_max"});
  }
  return range;
}

}  // namespace

Condition unconditional() {
  return {.name = "uncond",
          .renames = {{"prompt", "negative_prompt"},
                      {"prompt_2", "negative_prompt_2"},
                      {"prompt_3", "negative_prompt_3"}}};
}

std::vector<Condition> ClassifierFreeGuidance::conditions() const {
  std::vector<Condition> all{{"cond"}};
  if (guides()) all.push_back(unconditional());
  return all;
}

std::vector<std::string> ClassifierFreeGuidance::active(const GuidanceStep& step) const {
  return guides(step) ? std::vector<std::string>{"cond", "uncond"}
                      : std::vector<std::string>{"cond"};
}

Tensor ClassifierFreeGuidance::combine(const Predictions& predictions, GuidanceStep& step) const {
  const Tensor& cond = predictions.at("cond");
  if (!guides(step)) return cond;
  return rescaled(guided(cond, predictions.at("uncond"), config_.guidance_scale), cond,
                  config_.guidance_rescale);
}

// One condition, whatever the scale.
GuiderInfo no_guidance_info() {
  return {"none", "one network pass per step, no guidance", {}, [](const Json& json) {
            read_guider_settings(json, {});
            return std::make_unique<ClassifierFreeGuidance>(GuidanceConfig{1.0}, SigmaRange{},
                                                            "none");
          }};
}

GuiderInfo classifier_free_guidance_info() {
  return {"cfg", "classifier-free guidance", guidance_keys(), [](const Json& json) {
            ConfigValues values = read_guider_settings(json, guidance_keys());
            return std::make_unique<ClassifierFreeGuidance>(guidance_config(values));
          }};
}

// The same with a rescale of 0.7, as arXiv 2305.08891 recommends, unless set otherwise.
GuiderInfo rescaled_guidance_info() {
  std::vector<const KeyInfo*> keys{&guider_keys::guidance_scale, &strong_rescale,
                                   &guider_keys::start, &guider_keys::stop};
  return {"cfg_rescaled", "classifier-free guidance, its contrast pulled back", keys,
          [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            return std::make_unique<ClassifierFreeGuidance>(guidance_config(values), SigmaRange{},
                                                            "cfg_rescaled");
          }};
}

// The same within an interval of the run, by fraction or by noise level.
GuiderInfo guidance_interval_info() {
  std::vector<const KeyInfo*> keys = with_guidance_keys({&sigma_min, &sigma_max});
  return {"interval", "classifier-free guidance in a part of the run", keys,
          [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            return std::make_unique<ClassifierFreeGuidance>(guidance_config(values),
                                                            sigma_range(values), "interval");
          }};
}

}  // namespace omnirt
