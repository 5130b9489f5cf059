// Every scheduler stepped against diffusers' trajectories over a covering set of its options.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "schedulers/golden_cases.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {
namespace {

using testing::golden_cases;
using testing::GoldenCase;

// Relative to the largest magnitude of the reference's sample. Both sides call the same torch
// kernels in the same order: on the CPU that made the goldens every sample is equal to the bit. On
// another CPU torch's vectorised kernels differ in their last bits, which solvers that take
// differences of near equals enlarge.
constexpr double tolerance = 2e-5;

const std::vector<int64_t> shape = {2, 3, 2, 4};

Tensor pattern(int multiplier) {
  std::vector<float> values;
  for (int i = 0; i < 48; ++i) {
    values.push_back(static_cast<float>(i * multiplier % 101) / 101.0F - 0.5F);
  }
  return at::tensor(values).reshape(shape);
}

// The function in place of a network, as in tools/goldens/schedulers.py.
Tensor network(const Tensor& x, double t, bool learned) {
  static const Tensor fixed = pattern(37);
  Tensor out = at::tanh(x) * 0.5 + fixed * (0.5 + t / 1000);
  return learned ? at::cat({out, fixed * 0.4 + 0.5}, 1) : out;
}

struct Trajectory {
  std::vector<double> timesteps;
  double init_sigma = 0;
  std::vector<float> checks;
  std::vector<Tensor> samples;
};

Trajectory walk(const SchedulerInfo& info, const GoldenCase& c) {
  auto scheduler = info.make(c.config, "scheduler");
  scheduler->set_timesteps({.num_inference_steps = c.steps, .eta = c.eta, .mu = c.mu});
  scheduler->set_begin(c.begin);
  Trajectory result{scheduler->timesteps(), scheduler->init_noise_sigma(), {}, {}};
  Noise noise(std::vector<uint64_t>{11, 12});
  Tensor first = noise.randn(shape);
  Tensor picture = pattern(53);
  Tensor sample = c.image_to_image ? scheduler->add_noise(picture, first, c.begin)
                                   : first * scheduler->init_noise_sigma();
  for (size_t i = c.begin; i < result.timesteps.size(); ++i) {
    Tensor x = scheduler->scale_model_input(sample, i);
    Tensor out = network(x, result.timesteps[i], scheduler->needs_predicted_variance());
    sample = scheduler->step(out, i, sample, noise).prev_sample;
    float again = 0;
    if (i + 1 < result.timesteps.size()) {
      again = scheduler->add_noise(picture, first, i + 1).abs().mean().item<float>();
    }
    result.checks.push_back(sample.abs().mean().item<float>());
    result.checks.push_back(sample.flatten()[-1].item<float>());
    result.checks.push_back(again);
    result.samples.push_back(sample);
  }
  return result;
}

double error_against(const Tensor& sample, const std::vector<float>& wanted) {
  Tensor reference = at::tensor(wanted).reshape(shape);
  double largest = reference.abs().max().item<double>();
  return (sample - reference).abs().max().item<double>() / std::max(largest, 1e-6);
}

double error_of_checks(const std::vector<float>& ours, const std::vector<float>& wanted) {
  double worst = ours.size() == wanted.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(ours.size(), wanted.size()); ++i) {
    double scale = std::max<double>(wanted[i - i % 3], 1e-6);  // the mean magnitude at that call
    if (i % 3 == 2) scale = std::max<double>(wanted[i], 1e-6);
    worst = std::max(worst, std::abs(double{ours[i]} - wanted[i]) / scale);
  }
  return worst;
}

// Exact, but for the two that keep float64 timesteps: there the last bits of numpy's own log, exp
// and power are seen, which are others than libm's.
double timestep_tolerance(const std::string& class_name) {
  return class_name.starts_with("KDPM2") ? 1e-9 : 0;
}

double timestep_error(const std::vector<double>& ours, const std::vector<double>& wanted) {
  if (ours.size() != wanted.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::abs(ours[i] - wanted[i]));
  return worst;
}

class Trajectories : public ::testing::TestWithParam<std::string> {};

TEST_P(Trajectories, EqualTheReferencesForEveryPairOfOptions) {
  const SchedulerInfo* info = find_scheduler(GetParam());
  ASSERT_NE(info, nullptr);
  double worst = 0;
  size_t compared = 0;
  for (const GoldenCase& c : golden_cases(GetParam())) {
    if (c.outcome != "ok") continue;
    SCOPED_TRACE(c.text());
    Trajectory ours;
    ASSERT_NO_THROW(ours = walk(*info, c));
    EXPECT_LE(timestep_error(ours.timesteps, c.timesteps), timestep_tolerance(GetParam()));
    EXPECT_DOUBLE_EQ(ours.init_sigma, c.init_sigma);
    if (ours.samples.empty()) continue;
    double error = error_against(ours.samples[ours.samples.size() / 2], c.middle);
    error = std::max(error, error_against(ours.samples.back(), c.final_sample));
    error = std::max(error, error_of_checks(ours.checks, c.checks));
    EXPECT_LT(error, tolerance);
    worst = std::max(worst, error);
    ++compared;
  }
  EXPECT_GE(compared, 20U);
  RecordProperty("worst_relative_error", std::to_string(worst));
  RecordProperty("compared", std::to_string(compared));
  printf("worst relative error %.2e over %zu cases\n", worst, compared);
}

TEST_P(Trajectories, RefuseWhatTheReferenceRefusesAndNeverGiveNan) {
  const SchedulerInfo* info = find_scheduler(GetParam());
  ASSERT_NE(info, nullptr);
  for (const GoldenCase& c : golden_cases(GetParam())) {
    if (c.outcome == "ok") continue;
    SCOPED_TRACE(c.text());
    try {
      Trajectory ours = walk(*info, c);
      EXPECT_NE(c.outcome, "refused");
      for (const Tensor& sample : ours.samples) {
        EXPECT_TRUE(at::isfinite(sample).all().item<bool>());
      }
    } catch (const Unsupported& error) {
      ASSERT_FALSE(error.findings().empty());
      for (const Finding& finding : error.findings()) {
        EXPECT_TRUE(finding.field.starts_with("scheduler.") ||
                    finding.field == "num_inference_steps")
            << finding.field;
        EXPECT_FALSE(finding.value.empty());
        EXPECT_FALSE(finding.message.empty());
      }
    }
  }
}

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const SchedulerInfo& info : all_schedulers()) names.push_back(info.class_name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Schedulers, Trajectories, ::testing::ValuesIn(class_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace omnirt
