// Euler steps along the straight paths of flow matching (arXiv 2210.02747, 2403.03206).
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/flow_match.hpp"

namespace omnirt {
namespace {

struct FlowMatchEulerConfig {
  FlowMatchConfig flow;
  bool stochastic_sampling = false;

  static void visit(auto& self, auto& v) {
    FlowMatchConfig::visit(self.flow, v);
    v("stochastic_sampling", self.stochastic_sampling);
  }
  void check(ConfigChecks& checks) const { flow.check(checks); }
};

class FlowMatchEulerDiscrete final : public FlowMatchScheduler {
 public:
  explicit FlowMatchEulerDiscrete(const FlowMatchEulerConfig& config)
      : FlowMatchScheduler(config.flow), stochastic_(config.stochastic_sampling) {}

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    float sigma = sigmas_.at(index);
    float next = sigmas_.at(index + 1);
    if (!stochastic_) return {sample + model_output * (next - sigma), std::nullopt};
    Tensor original = sample - model_output * sigma;
    return {original * (1 - next) + draw_like(noise, sample) * next, original};
  }

 private:
  bool stochastic_;
};

}  // namespace

SchedulerInfo flow_match_euler_discrete() {
  SchedulerInfo info = describe_scheduler<FlowMatchEulerDiscrete, FlowMatchEulerConfig>(
      "FlowMatchEulerDiscreteScheduler",
      {"flow-match-euler-discrete", "flow-match-euler", "flow-euler"},
      "Euler's method for flow-matching models");
  info.made_for = SchedulerFor::flow_matching;
  return info;
}

}  // namespace omnirt
