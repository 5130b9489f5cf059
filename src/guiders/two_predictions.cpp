#include "guiders/two_predictions.hpp"

#include "guiders/maths.hpp"

namespace omnirt {

std::vector<Condition> TwoPredictionGuider::conditions() const {
  std::vector<Condition> all{{"cond"}};
  if (guides()) all.push_back(other_);
  return all;
}

std::vector<std::string> TwoPredictionGuider::active(const GuidanceStep& step) const {
  return guides(step) ? std::vector<std::string>{"cond", other_.name}
                      : std::vector<std::string>{"cond"};
}

Tensor TwoPredictionGuider::combine(const Predictions& predictions, GuidanceStep& step) const {
  const Tensor& cond = predictions.at("cond");
  if (!guides(step)) return cond;
  return rescaled(combined(cond, predictions.at(other_.name), step), cond,
                  config_.guidance_rescale);
}

}  // namespace omnirt
