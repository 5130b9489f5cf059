// Consistency models in continuous time (Lu & Song 2024, arXiv 2410.11081; diffusers
// scheduling_scm.py): jump to the image, add noise, again. A noisy sample is cos(t) image + sin(t)
// sigma_data noise.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "schedulers/describe.hpp"

namespace omnirt {
namespace {

struct ScmConfig {
  int64_t num_train_timesteps = 1000;
  // trigflow; or flow_prediction, of networks that know the paths of flow matching at s = sin(t) /
  // (sin(t) + cos(t)): what SanaSprintPipeline does around the reference's class.
  std::string prediction_type = "trigflow";
  double sigma_data = 0.5;

  static void visit(auto& self, auto& v) {
    v("num_train_timesteps", self.num_train_timesteps);
    v("prediction_type", self.prediction_type);
    v("sigma_data", self.sigma_data);
  }
  void check(ConfigChecks& checks) const {
    checks.require(num_train_timesteps >= 1, "num_train_timesteps", num_train_timesteps,
                   "a number from 1 was expected");
    checks.one_of("prediction_type", prediction_type, {"trigflow", "flow_prediction"});
    checks.require(sigma_data > 0, "sigma_data", sigma_data, "a number above 0 was expected");
  }
  bool flow() const { return prediction_type == "flow_prediction"; }
};

// Where runs begin, and where two steps meet (its paper has arctan(80 / 0.5); these are the
// defaults of the reference's set_timesteps).
constexpr float first_time = 1.57080F;
constexpr float time_between = 1.3F;

class Scm final : public Scheduler {
 public:
  explicit Scm(ScmConfig config) : config_(std::move(config)) {}

  void plan_run(const StepPlan& plan) override {
    const int64_t steps = plan.num_inference_steps;
    if (steps > config_.num_train_timesteps) {
      throw Unsupported(Finding{
          "config.num_inference_steps", std::to_string(steps),
          fmt::format("more than the {} steps of its training", config_.num_train_timesteps),
          fmt::format("give {}", config_.num_train_timesteps)});
    }
    times_ = even_times(steps);
    if (steps == 2) times_[1] = time_between;
    timesteps_.clear();
    for (int64_t i = 0; i < steps; ++i) {
      const float t = times_[static_cast<size_t>(i)];
      timesteps_.push_back(config_.flow() ? level(t) : t);
    }
  }

  Tensor scale_model_input(const Tensor& sample, size_t index) override {
    if (!config_.flow()) return sample;
    return sample * static_cast<double>(length(level(times_.at(index))));
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    const float now = times_.at(index), next = times_.at(index + 1);
    const Tensor output = config_.flow() ? from_flow(model_output, index, sample) : model_output;
    Tensor original = sample * std::cos(now) - output * std::sin(now);
    Tensor drawn = draw_like(noise, model_output) * config_.sigma_data;
    return {original * std::cos(next) + drawn * std::sin(next), original};
  }

  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override {
    const float t = times_.at(index);
    return original * std::cos(t) + noise * config_.sigma_data * std::sin(t);
  }

 private:
  // From the noisiest to 0 in equal steps, as torch.linspace counts: from both ends.
  static std::vector<float> even_times(int64_t steps) {
    const float step = first_time / static_cast<float>(steps);
    std::vector<float> times;
    for (int64_t i = 0; i <= steps; ++i) {
      const bool first_half = i < (steps + 1) / 2;
      times.push_back(first_half ? first_time - step * static_cast<float>(i)
                                 : step * static_cast<float>(steps - i));
    }
    return times;
  }
  // The share of noise on a flow's path.
  static float level(float t) { return std::sin(t) / (std::cos(t) + std::sin(t)); }
  static float length(float s) { return std::sqrt(s * s + (1 - s) * (1 - s)); }

  // A flow's velocity as what trigflow's networks predict.
  Tensor from_flow(const Tensor& velocity, size_t index, const Tensor& sample) const {
    const float s = level(times_.at(index)), norm = length(s);
    Tensor made = sample * static_cast<double>(norm) * static_cast<double>(1 - 2 * s) +
                  velocity * static_cast<double>(1 - 2 * s + 2 * s * s);
    return made / static_cast<double>(norm);
  }

  ScmConfig config_;
  std::vector<float> times_;  // of each call, and 0
};

}  // namespace

SchedulerInfo scm() {
  SchedulerInfo info = describe_scheduler<Scm, ScmConfig>(
      "SCMScheduler", {"scm", "trigflow"},
      "for models distilled for consistency in continuous time (Sana-Sprint), at 1 to 4 steps");
  info.made_for = SchedulerFor::consistency;
  return info;
}

}  // namespace omnirt
