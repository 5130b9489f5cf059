// Every scheduler stepped against diffusers' trajectories over a covering set of its options.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "schedulers/golden_cases.hpp"
#include "schedulers/last_bits.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {
namespace {

using testing::golden_cases;
using testing::GoldenCase;
using testing::LastBits;
using testing::Recorded;

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

std::vector<float> numbers_of(const Tensor& x) {
  Tensor flat = x.contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

Recorded walk(const SchedulerInfo& info, const GoldenCase& c) {
  auto scheduler = info.make(c.config, "scheduler");
  scheduler->set_timesteps({.num_inference_steps = c.steps,
                            .eta = c.eta,
                            .mu = c.mu,
                            .timesteps = c.timesteps,
                            .sigmas = c.sigmas});
  scheduler->set_begin(c.begin);
  Recorded result{scheduler->timesteps(), scheduler->init_noise_sigma(), {}, {}, {}};
  Noise noise(std::vector<uint64_t>{11, 12});
  Tensor first = noise.randn(shape);
  Tensor picture = pattern(53);
  Tensor sample = c.image_to_image ? scheduler->add_noise(picture, first, c.begin)
                                   : first * scheduler->init_noise_sigma();
  size_t end = result.timesteps.size();
  for (size_t i = c.begin; i < end; ++i) {
    Tensor x = scheduler->scale_model_input(sample, i);
    Tensor out = network(x, result.timesteps[i], scheduler->needs_predicted_variance());
    sample = scheduler->step(out, i, sample, noise).prev_sample;
    float again = 0;
    if (i + 1 < end) {
      again = scheduler->add_noise(picture, first, i + 1).abs().mean().item<float>();
    }
    result.checks.push_back(sample.abs().mean().item<float>());
    result.checks.push_back(sample.flatten()[-1].item<float>());
    result.checks.push_back(again);
    if (i == c.begin + (end - c.begin) / 2) result.middle = numbers_of(sample);
  }
  if (end > c.begin) result.final_sample = numbers_of(sample);
  return result;
}

// How far two runs are apart: timesteps in steps of training, the rest relative.
struct Distance {
  double timesteps = 0;
  double init_sigma = 0;
  double samples = 0;  // of the largest magnitude of the sample
};

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class Real>
double largest_difference(const std::vector<Real>& a, const std::vector<Real>& b) {
  if (a.size() != b.size()) return infinite;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double difference = std::abs(double{a[i]} - b[i]);
    worst = std::isnan(difference) ? infinite : std::max(worst, difference);
  }
  return worst;
}

double sample_error(const std::vector<float>& ours, const std::vector<float>& wanted) {
  double largest = 1e-6;
  for (float value : wanted) largest = std::max<double>(largest, std::abs(value));
  return largest_difference(ours, wanted) / largest;
}

double error_of_checks(const std::vector<float>& ours, const std::vector<float>& wanted) {
  if (ours.size() != wanted.size()) return infinite;
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    double scale = std::max<double>(wanted[i - i % 3], 1e-6);  // the mean magnitude at that call
    if (i % 3 == 2) scale = std::max<double>(wanted[i], 1e-6);
    double error = std::abs(double{ours[i]} - wanted[i]) / scale;
    worst = std::isnan(error) ? infinite : std::max(worst, error);
  }
  return worst;
}

Distance distance(const Recorded& ours, const Recorded& wanted) {
  return {largest_difference(ours.timesteps, wanted.timesteps),
          std::abs(ours.init_sigma - wanted.init_sigma) / std::max(wanted.init_sigma, 1e-6),
          std::max({sample_error(ours.middle, wanted.middle),
                    sample_error(ours.final_sample, wanted.final_sample),
                    error_of_checks(ours.checks, wanted.checks)})};
}

bool within(const Distance& error, const Distance& tolerance) {
  return error.timesteps <= tolerance.timesteps && error.init_sigma <= tolerance.init_sigma &&
         error.samples <= tolerance.samples;
}

// Where nothing enlarges them, the last bits of a sample stay last bits: an ulp is 2^-23, and some
// tens of results make a run. Timesteps are planned in double, by the logarithms and powers of
// numpy there and of the C library here.
constexpr Distance last_bits{.timesteps = 1e-9, .init_sigma = 3e-7, .samples = 2e-6};

// What no last bits excuse in a schedule as models are published with: a thousand of them. (Over
// three kinds of torch's kernels on two makers' processors it was 3e-5, by DEIS.)
constexpr double ordinary_limit = 1e-4;

// Some schedules enlarge last bits: sqrt(1 - alpha) with an alpha of 2^-24 (zero terminal SNR),
// steps that divide by the difference of near equals, a timestep that is on the edge between two
// whole ones. How far, is measured: the run again and again with the last bits moved, until one has
// gone as far as a `margin`-th of the `error`, or there were many. Returns what they allow.
Distance reach_of_last_bits(const SchedulerInfo& info, const GoldenCase& c, const Recorded& ours,
                            const Distance& error) {
  constexpr uint32_t draws = 32;
  constexpr double margin = 4;
  Distance reach = last_bits;
  for (uint32_t draw = 0; draw < draws && !within(error, reach); ++draw) {
    LastBits bits(draw);
    Distance apart = distance(walk(info, c), ours);
    if (!std::isfinite(apart.samples)) continue;  // a NaN reaches everywhere
    reach = {std::max(reach.timesteps, margin * apart.timesteps),
             std::max(reach.init_sigma, margin * apart.init_sigma),
             std::max(reach.samples, margin * apart.samples)};
  }
  return reach;
}

class Trajectories : public ::testing::TestWithParam<std::string> {};

// The config of a model as it is published, and not a combination that only covers a pair.
bool is_ordinary(const GoldenCase& c) {
  return c.config.contains("_class_name");
}

TEST_P(Trajectories, EqualTheReferencesForEveryPairOfOptions) {
  const SchedulerInfo* info = find_scheduler(GetParam());
  ASSERT_NE(info, nullptr);
  size_t compared = 0, plain = 0;
  double worst = 0;
  for (const GoldenCase& c : golden_cases(GetParam())) {
    if (c.outcome != "ok") continue;
    SCOPED_TRACE(c.text());
    Recorded ours;
    ASSERT_NO_THROW(ours = walk(*info, c));
    Distance error = distance(ours, c.recorded);
    Distance tolerance = reach_of_last_bits(*info, c, ours, error);
    EXPECT_LE(error.timesteps, tolerance.timesteps);
    EXPECT_LE(error.init_sigma, tolerance.init_sigma);
    EXPECT_LE(error.samples, tolerance.samples);
    EXPECT_LE(error.samples, is_ordinary(c) ? ordinary_limit : infinite);
    ++compared;
    plain += error.samples <= last_bits.samples;
    worst = std::max(worst, error.samples);
  }
  EXPECT_GE(compared, 20U);
  EXPECT_GT(2 * plain, compared);
  printf("%zu cases, the samples of %zu by last bits alone; worst relative error %.2e\n", compared,
         plain, worst);
}

bool takes_levels(const SchedulerInfo& info) {
  GivenLevels taken = info.make(Json::object(), "scheduler")->takes_levels();
  return taken.timesteps || taken.sigmas;
}

TEST_P(Trajectories, ThroughLevelsFromOutsideEqualTheReferences) {
  const SchedulerInfo* info = find_scheduler(GetParam());
  ASSERT_NE(info, nullptr);
  if (!takes_levels(*info)) return;
  size_t compared = 0;
  for (const GoldenCase& c : golden_cases(GetParam(), "schedulers_given")) {
    SCOPED_TRACE(c.text());
    if (c.outcome != "ok") {
      EXPECT_THROW(walk(*info, c), Unsupported);
      continue;
    }
    Recorded ours;
    ASSERT_NO_THROW(ours = walk(*info, c));
    Distance error = distance(ours, c.recorded);
    Distance tolerance = reach_of_last_bits(*info, c, ours, error);
    EXPECT_LE(error.timesteps, tolerance.timesteps);
    EXPECT_LE(error.samples, tolerance.samples);
    EXPECT_LE(error.samples, ordinary_limit);
    ++compared;
  }
  EXPECT_GE(compared, 10U);
}

// A thousandth in a schedule is what the tolerances must not let pass.
TEST_P(Trajectories, DifferWhereAScheduleIsNotTheReferences) {
  const SchedulerInfo* info = find_scheduler(GetParam());
  ASSERT_NE(info, nullptr);
  size_t told_apart = 0;
  for (GoldenCase c : golden_cases(GetParam())) {
    if (c.outcome != "ok" || !is_ordinary(c) || c.steps != 5) continue;
    SCOPED_TRACE(c.text());
    c.config["beta_end"] = c.config.value("beta_end", 0.0) * 1.001;
    c.config["shift"] = 1.001;  // what flow matching has in place of betas
    if (info->made_for == SchedulerFor::edm) c.config["sigma_max"] = 80.08;
    // Its times are fixed; how much noise comes back is not.
    if (info->class_name == "SCMScheduler") c.config["sigma_data"] = 0.5005;
    Recorded other = walk(*info, c);
    Distance error = distance(other, c.recorded);
    EXPECT_FALSE(within(error, reach_of_last_bits(*info, c, other, error)));
    ++told_apart;
  }
  EXPECT_GT(told_apart, 0U);
}

TEST_P(Trajectories, RefuseWhatTheReferenceRefusesAndNeverGiveNan) {
  const SchedulerInfo* info = find_scheduler(GetParam());
  ASSERT_NE(info, nullptr);
  for (const GoldenCase& c : golden_cases(GetParam())) {
    if (c.outcome == "ok") continue;
    SCOPED_TRACE(c.text());
    try {
      Recorded ours = walk(*info, c);
      EXPECT_NE(c.outcome, "refused");
      // Each call's mean magnitude is among them.
      for (float check : ours.checks) EXPECT_TRUE(std::isfinite(check));
    } catch (const Unsupported& error) {
      ASSERT_FALSE(error.findings().empty());
      for (const Finding& finding : error.findings()) {
        EXPECT_TRUE(finding.field.starts_with("scheduler.") ||
                    finding.field == "config.num_inference_steps")
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
