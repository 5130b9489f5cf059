// Latent consistency models on the straight paths of flow matching: jump to the image, add noise,
// again.
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/flow_match.hpp"

namespace omnirt {
namespace {

struct FlowMatchLcmConfig {
  FlowMatchConfig flow;

  static void visit(auto& self, auto& v) {
    FlowMatchConfig::visit(self.flow, v);
    // Images that grow from step to step: their samples change size, which no block expects.
    v.only("scale_factors", {});
  }
  void check(ConfigChecks& checks) const { flow.check(checks); }
};

class FlowMatchLcm final : public FlowMatchScheduler {
 public:
  explicit FlowMatchLcm(const FlowMatchLcmConfig& config) : FlowMatchScheduler(config.flow) {}

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    float next = sigmas_.at(index + 1);
    Tensor original = sample - model_output * sigmas_.at(index);
    return {original * (1 - next) + draw_like(noise, sample) * next, original};
  }
};

}  // namespace

SchedulerInfo flow_match_lcm() {
  SchedulerInfo info = describe_scheduler<FlowMatchLcm, FlowMatchLcmConfig>(
      "FlowMatchLCMScheduler", {"flow-match-lcm", "flow-lcm"},
      "for flow-matching models distilled for consistency, at 2 to 8 steps");
  info.made_for = SchedulerFor::flow_matching;
  return info;
}

}  // namespace omnirt
