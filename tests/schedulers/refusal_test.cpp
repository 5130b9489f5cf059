// What a config or a plan can hold that cannot be run: refused by name, never run into NaN.
#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tanh.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<Finding> findings_of(const std::string& name, const Json& config,
                                 const StepPlan& plan = {}) {
  try {
    find_scheduler(name)->make(config, "scheduler")->set_timesteps(plan);
  } catch (const InvalidRequest& error) {
    return error.findings();
  }
  return {};
}

std::string field_of(const std::string& name, const Json& config, const StepPlan& plan = {}) {
  auto findings = findings_of(name, config, plan);
  return findings.empty() ? "" : findings.front().field;
}

TEST(SchedulerRefusals, NameTheKeyTheValueAndTheWayOut) {
  auto findings = findings_of("euler", {{"beta_schedule", "cubic"}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].field, "scheduler.beta_schedule");
  EXPECT_EQ(findings[0].value, "\"cubic\"");
  EXPECT_THAT(findings[0].way_out, HasSubstr("scaled_linear"));
}

TEST(SchedulerRefusals, ReportAllFindingsTogether) {
  auto findings = findings_of(
      "euler", {{"beta_schedule", "cubic"}, {"timestep_spacing", "odd"}, {"steps_offset", -1}});
  EXPECT_EQ(findings.size(), 3U);
}

TEST(SchedulerRefusals, CatchValuesThatWouldBreakTheSchedule) {
  EXPECT_EQ(field_of("euler", {{"num_train_timesteps", 1}}), "scheduler.num_train_timesteps");
  EXPECT_EQ(field_of("euler", {{"num_train_timesteps", 1000000000}}),
            "scheduler.num_train_timesteps");
  EXPECT_EQ(field_of("euler", {{"beta_end", 1.5}}), "scheduler.beta_end");
  EXPECT_EQ(field_of("euler", {{"beta_start", "small"}}), "scheduler.beta_start");
  EXPECT_EQ(field_of("euler", {{"beta_start", 0.5}, {"beta_end", 0.9}}), "scheduler.beta_schedule");
  EXPECT_EQ(field_of("ddim", {{"trained_betas", {0.1, 0.2}}}), "scheduler.trained_betas");
  EXPECT_EQ(field_of("euler", {{"sigma_min", -1.0}}), "scheduler.sigma_min");
  EXPECT_EQ(field_of("euler", {{"use_karras_sigmas", true}, {"sigma_min", 500.0}}),
            "scheduler.sigma_min");
  EXPECT_EQ(field_of("dpm-solver", {{"solver_order", 0}}), "scheduler.solver_order");
  EXPECT_EQ(field_of("dpm-solver-singlestep", {{"solver_order", 4}}), "scheduler.solver_order");
  EXPECT_EQ(field_of("dpm-solver", {{"lambda_min_clipped", 100.0}}),
            "scheduler.lambda_min_clipped");
  EXPECT_EQ(field_of("ddim", {{"thresholding", true}, {"dynamic_thresholding_ratio", 1.5}}),
            "scheduler.dynamic_thresholding_ratio");
  EXPECT_EQ(field_of("ddpm", {{"variance_type", "fixed_large_log"}}), "scheduler.variance_type");
  EXPECT_EQ(field_of("unipc", {{"solver_p", {{"a", 1}}}}), "scheduler.solver_p");
  EXPECT_EQ(field_of("flow-match-euler", {{"use_dynamic_shifting", true}}),
            "scheduler.use_dynamic_shifting");
  EXPECT_EQ(field_of("dpm-solver", {{"use_flow_sigmas", true}, {"use_karras_sigmas", true}}),
            "scheduler.use_flow_sigmas");
}

TEST(SchedulerRefusals, NameAStepCountThatCannotBeWalked) {
  EXPECT_EQ(field_of("ddim", Json::object(), {.num_inference_steps = 1001}),
            "config.num_inference_steps");
  EXPECT_EQ(field_of("ddim", {{"steps_offset", 1}}, {.num_inference_steps = 1000}),
            "config.num_inference_steps");
  EXPECT_EQ(field_of("lcm", Json::object(), {.num_inference_steps = 51}),
            "config.num_inference_steps");
  EXPECT_EQ(field_of("pndm", Json::object(), {.num_inference_steps = 3}),
            "config.num_inference_steps");
  EXPECT_EQ(
      field_of("dpm-solver", {{"timestep_spacing", "leading"}}, {.num_inference_steps = 1000}),
      "config.num_inference_steps");
  for (const SchedulerInfo& info : all_schedulers()) {
    EXPECT_EQ(field_of(info.class_name, Json::object(), {.num_inference_steps = 0}),
              "config.num_inference_steps");
    EXPECT_EQ(field_of(info.class_name, Json::object(), {.num_inference_steps = INT64_MAX}),
              "config.num_inference_steps");
  }
}

TEST(SchedulerRefusals, NameTheVarianceThatANetworkDoesNotGive) {
  auto scheduler = find_scheduler("ddpm")->make({{"variance_type", "learned_range"}}, "scheduler");
  EXPECT_TRUE(scheduler->needs_predicted_variance());
  scheduler->set_timesteps({.num_inference_steps = 2});
  Noise noise(std::vector<uint64_t>{1});
  Tensor sample = noise.randn({1, 4, 2, 2});
  EXPECT_THROW(scheduler->step(sample, 0, sample, noise), Unsupported);
}

// Runs a whole schedule; false where the config or the number of steps is refused.
[[nodiscard]] bool finite_run(const SchedulerInfo& info, const Json& config, int64_t steps) {
  std::unique_ptr<Scheduler> scheduler;
  try {
    scheduler = info.make(config, "scheduler");
    scheduler->set_timesteps({.num_inference_steps = steps});
  } catch (const Unsupported&) {
    return false;
  }
  Noise noise(std::vector<uint64_t>{3});
  Tensor sample = noise.randn({1, 3, 2, 2}) * scheduler->init_noise_sigma();
  for (size_t i = 0; i < scheduler->timesteps().size(); ++i) {
    Tensor out = at::tanh(scheduler->scale_model_input(sample, i));
    sample = scheduler->step(out, i, sample, noise).prev_sample;
  }
  EXPECT_TRUE(at::isfinite(sample).all().item<bool>())
      << info.class_name << " " << steps << " steps of " << config.dump();
  return true;
}

TEST(SchedulerSteps, NeverGiveNanAtOneOrTwoSteps) {
  std::vector<Json> variants = {Json::object()};
  auto multiply = [&](const std::vector<Json>& options) {
    std::vector<Json> grown;
    for (const Json& base : variants) {
      for (const Json& option : options) {
        Json config = base;
        config.update(option);
        grown.push_back(config);
      }
    }
    variants = std::move(grown);
  };
  multiply({{{"timestep_spacing", "linspace"}},
            {{"timestep_spacing", "leading"}},
            {{"timestep_spacing", "trailing"}}});
  multiply({{{"prediction_type", "epsilon"}},
            {{"prediction_type", "v_prediction"}},
            {{"prediction_type", "sample"}},
            {{"prediction_type", "trigflow"}}});  // SCM's, which has no other
  multiply({{{"rescale_betas_zero_snr", true}, {"clip_sample", false}},
            {{"beta_schedule", "squaredcos_cap_v2"}, {"skip_prk_steps", true}},
            {{"use_karras_sigmas", true}, {"solver_type", "bh1"}},
            {{"use_flow_sigmas", true}, {"predict_x0", false}, {"shift_terminal", 0.1}},
            {{"final_sigmas_type", "sigma_min"}, {"algorithm_type", "dpmsolver"}}});
  size_t total = 0;
  for (const SchedulerInfo& info : all_schedulers()) {
    size_t ran = 0;
    for (const Json& config : variants) {
      for (int64_t steps : {1, 2}) ran += finite_run(info, config, steps) ? 1 : 0;
    }
    // Each refuses some of the options; PNDM most, which needs four steps to warm up.
    EXPECT_GE(ran, 12U) << info.class_name;
    total += ran;
  }
  EXPECT_GT(total, 800U);
}

TEST(SchedulerSteps, NeverGiveNanAtAsManyStepsAsThereAreTrainingSteps) {
  for (const SchedulerInfo& info : all_schedulers()) {
    size_t ran = 0;
    for (const char* spacing : {"linspace", "trailing"}) {
      for (const char* solver : {"midpoint", "heun"}) {
        Json config = {{"timestep_spacing", spacing},
                       {"solver_type", solver},
                       {"solver_order", 3},
                       {"num_train_timesteps", 100},
                       // LCM runs over these instead.
                       {"original_inference_steps", 100},
                       {"skip_prk_steps", true}};
        ran += finite_run(info, config, 100) ? 1 : 0;
      }
    }
    EXPECT_GT(ran, 0U) << info.class_name;
  }
}

void refuse_plan(const char* scheduler, const StepPlan& plan, const char* field,
                 const char* message) {
  SCOPED_TRACE(scheduler);
  auto made = find_scheduler(scheduler)->make(Json::object(), "scheduler");
  try {
    made->set_timesteps(plan);
    ADD_FAILURE() << "was taken";
  } catch (const Unsupported& error) {
    EXPECT_EQ(error.findings().at(0).field, field);
    EXPECT_EQ(error.findings().at(0).message, message);
  }
}

TEST(GivenLevels, AreRefusedByNameWhereTheReferenceTakesNone) {
  const char* none = "this scheduler takes none from outside";
  const StepPlan timesteps{.num_inference_steps = 2, .timesteps = {900, 100}};
  const StepPlan sigmas{.num_inference_steps = 2, .sigmas = {0.9, 0.1}};
  for (const char* name : {"ddim", "euler-a", "lms", "pndm", "unipc", "deis", "kdpm2", "kdpm2-a",
                           "flow-match-heun", "edm-euler", "edm-dpm-solver", "sa-solver"})
    refuse_plan(name, timesteps, "config.timesteps", none);
  for (const char* name : {"ddim", "euler-a", "heun", "ddpm", "lcm", "tcd", "dpm-solver",
                           "dpm-solver-singlestep", "edm-euler", "sa-solver"})
    refuse_plan(name, sigmas, "config.sigmas", none);
}

TEST(GivenLevels, ThatCannotBeWalkedAreRefused) {
  const char* falling = "numbers from 0 up that fall from each to the next were expected";
  for (const std::vector<double>& list :
       {std::vector<double>{100, 900}, {500, 500}, {500, -1}, {INFINITY, 1}, {NAN, 1}})
    refuse_plan("euler", {.num_inference_steps = 2, .timesteps = list}, "config.timesteps",
                falling);
  refuse_plan("dpm-solver", {.num_inference_steps = 2, .timesteps = {500.9, 500.1}},
              "config.timesteps", falling);
  for (const char* name : {"euler", "heun", "ddpm", "lcm", "tcd", "dpm-solver"})
    refuse_plan(name, {.num_inference_steps = 2, .timesteps = {1000, 1}}, "config.timesteps",
                "the last training step is 999");
  refuse_plan("euler", {.num_inference_steps = 3, .timesteps = {900, 100}},
              "config.num_inference_steps", "the levels given make 2 steps");
  refuse_plan("euler", {.num_inference_steps = 2, .sigmas = {3, 1}}, "config.num_inference_steps",
              "the levels given make 1 steps");
  refuse_plan("euler", {.num_inference_steps = 2, .timesteps = {900, 100}, .sigmas = {3, 1, 0}},
              "config.sigmas", "this scheduler takes timesteps or sigmas");
  refuse_plan("flow-match-euler", {.num_inference_steps = 2, .sigmas = {1.5, 0.5}}, "config.sigmas",
              "levels of noise above 0 and up to all of it were expected");
}

}  // namespace
}  // namespace omnirt
