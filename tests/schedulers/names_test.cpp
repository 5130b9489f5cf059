// Names of schedulers as people type them.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "schedulers/scheduler_name_table.hpp"
#include "schedulers/scheduler_names.hpp"

namespace omnirt {
namespace {

NamedScheduler named(const std::string& name, const char* own = "DDIMScheduler",
                     const Json& own_config = Json::object()) {
  return named_scheduler(all_schedulers(), name, find_scheduler(own), own_config);
}

Finding refusal(const std::string& name) {
  try {
    named(name);
  } catch (const Unsupported& error) {
    return error.findings().at(0);
  }
  return {};
}

void expect(const std::string& name, const std::string& class_name, const char* settings) {
  SCOPED_TRACE(name);
  NamedScheduler found;
  ASSERT_NO_THROW(found = named(name));
  EXPECT_EQ(found.info->class_name, class_name);
  EXPECT_EQ(found.settings, Json::parse(settings));
}

TEST(SchedulerNames, OfTheWebUiStandForTheSchedulersOfDiffusersTable) {
  const char* multistep = "DPMSolverMultistepScheduler";
  expect("DPM++ 2M", multistep, R"({"algorithm_type": "dpmsolver++", "solver_order": 2})");
  expect("DPM++ 2M Karras", multistep,
         R"({"algorithm_type": "dpmsolver++", "solver_order": 2, "use_karras_sigmas": true})");
  expect("DPM++ 2M SDE", multistep, R"({"algorithm_type": "sde-dpmsolver++", "solver_order": 2})");
  expect("DPM++ 2M SDE Karras", multistep,
         R"({"algorithm_type": "sde-dpmsolver++", "solver_order": 2, "use_karras_sigmas": true})");
  expect("DPM++ 3M SDE Exponential", multistep,
         R"({"algorithm_type": "sde-dpmsolver++", "solver_order": 3,
             "use_exponential_sigmas": true, "timestep_spacing": "linspace"})");
  expect("DPM2", "KDPM2DiscreteScheduler", "{}");
  expect("DPM2 a Karras", "KDPM2AncestralDiscreteScheduler", R"({"use_karras_sigmas": true})");
  expect("Euler", "EulerDiscreteScheduler", "{}");
  expect("Euler a", "EulerAncestralDiscreteScheduler", "{}");
  expect("Heun", "HeunDiscreteScheduler", "{}");
  expect("LMS Karras", "LMSDiscreteScheduler", R"({"use_karras_sigmas": true})");
  expect("PLMS", "PNDMScheduler", R"({"skip_prk_steps": true})");
  expect("UniPC", "UniPCMultistepScheduler", "{}");
}

TEST(SchedulerNames, AreReadWithAnySpacesDashesAndCase) {
  for (const char* name : {"euler_a", "Euler a", "EULER-A", "euler_ancestral", "k_euler_ancestral",
                           "EulerAncestralDiscrete", "EulerAncestralDiscreteScheduler"})
    expect(name, "EulerAncestralDiscreteScheduler", "{}");
  for (const char* name : {"dpmpp_2m", "dpm++2m", "DPM++ 2M", "dpmpp-2m", "k_dpmpp_2m"})
    expect(name, "DPMSolverMultistepScheduler",
           R"({"algorithm_type": "dpmsolver++", "solver_order": 2})");
  for (const char* name : {"uni_pc", "unipc", "UniPC", "uni-pc"})
    expect(name, "UniPCMultistepScheduler", "{}");
  expect("dpm_2_ancestral", "KDPM2AncestralDiscreteScheduler", "{}");
}

TEST(SchedulerNames, TakeASigmaScheduleBehindThem) {
  expect("euler_normal", "EulerDiscreteScheduler", R"({"timestep_spacing": "linspace"})");
  expect("euler sgm_uniform", "EulerDiscreteScheduler", R"({"timestep_spacing": "trailing"})");
  expect("euler simple", "EulerDiscreteScheduler", R"({"timestep_spacing": "trailing"})");
  expect("euler_beta", "EulerDiscreteScheduler",
         R"({"use_beta_sigmas": true, "timestep_spacing": "linspace"})");
  expect("euler_ddim_uniform", "EulerDiscreteScheduler",
         R"({"timestep_spacing": "leading", "steps_offset": 1})");
  expect("ddim_trailing", "DDIMScheduler", R"({"timestep_spacing": "trailing"})");
  expect("EulerDiscreteScheduler karras", "EulerDiscreteScheduler",
         R"({"use_karras_sigmas": true})");
  // A scheduler without timestep_spacing takes the spread alone.
  expect("dpm-solver-singlestep-exponential", "DPMSolverSinglestepScheduler",
         R"({"use_exponential_sigmas": true})");
}

TEST(SchedulerNames, OfASigmaScheduleAloneMeanTheModelsOwnScheduler) {
  expect("ddim_uniform", "DDIMScheduler", R"({"timestep_spacing": "leading", "steps_offset": 1})");
  NamedScheduler found = named("karras", "EulerDiscreteScheduler");
  EXPECT_EQ(found.info->class_name, "EulerDiscreteScheduler");
  EXPECT_EQ(found.settings, (Json{{"use_karras_sigmas", true}}));
}

TEST(SchedulerNames, TurnTheModelsOwnSpreadOffForAnother) {
  NamedScheduler found =
      named("dpmpp_2m_exponential", "EulerDiscreteScheduler", {{"use_karras_sigmas", true}});
  EXPECT_EQ(found.settings["use_karras_sigmas"], false);
  EXPECT_EQ(found.settings["use_exponential_sigmas"], true);
}

TEST(SchedulerNames, OfFlowMatchingModelsAreThoseOfItsForms) {
  NamedScheduler found = named("euler simple", "FlowMatchEulerDiscreteScheduler");
  EXPECT_EQ(found.info->class_name, "FlowMatchEulerDiscreteScheduler");
  EXPECT_EQ(found.settings, Json::object());
  // A class is what it says.
  EXPECT_EQ(named("EulerDiscreteScheduler", "FlowMatchEulerDiscreteScheduler").info->class_name,
            "EulerDiscreteScheduler");
}

TEST(SchedulerNames, ThatAreUnknownAreRefusedWithTheNearestOnePerLine) {
  EXPECT_EQ(refusal("dpm").way_out,
            "did you mean one of:\n  dpmpp-2m\n  dpmpp-2m-sde\n  dpmpp-2m-sde-heun\n  "
            "dpmpp-3m-sde\n  dpmpp-sde\n  dpmpp-2s");
  EXPECT_EQ(refusal("euler-discreet").way_out, "did you mean 'euler-discrete'?");
  EXPECT_EQ(refusal("kdpm2-anc").way_out,
            "did you mean one of:\n  kdpm2-ancestral-discrete\n  "
            "kdpm2-ancestral");
  Finding far = refusal("qqqqqqqqqq");
  EXPECT_EQ(far.field, "config.scheduler");
  EXPECT_EQ(far.value, "qqqqqqqqqq");
  EXPECT_TRUE(far.way_out.starts_with("known, and any with -karras"));
}

TEST(SchedulerNames, WithoutAnEqualInDiffusersAreRefusedByName) {
  for (const MissingName& row : missing_names()) {
    std::string first(row.names.substr(0, row.names.find('|')));
    SCOPED_TRACE(first);
    EXPECT_EQ(refusal(first).message, "diffusers has no equal of it, nor has this build");
    EXPECT_EQ(refusal(first).way_out, "the nearest is '" + std::string(row.nearest) + "'");
    EXPECT_NO_THROW(named(std::string(row.nearest), "EulerDiscreteScheduler"));
  }
  EXPECT_EQ(refusal("dpmpp_2s_a_karras").way_out, "the nearest is 'dpmpp-2s'");
}

TEST(SchedulerNames, OfSchedulesThatASchedulerDoesNotHaveAreRefused) {
  Finding finding = refusal("euler_a_karras");
  EXPECT_EQ(finding.message, "EulerAncestralDiscreteScheduler has no karras schedule");
  EXPECT_TRUE(finding.way_out.starts_with("leave it out, or use one of:\n  euler\n  dpmpp-2m"));
}

TEST(SchedulerNames, AllStandForSchedulersOfThisBuildWithSettingsThatTheyTake) {
  for (const SamplerName& row : sampler_names()) {
    std::string first(row.names.substr(0, row.names.find('|')));
    SCOPED_TRACE(first);
    const SchedulerInfo* info = find_scheduler(std::string(row.class_name));
    ASSERT_NE(info, nullptr);
    EXPECT_TRUE(row.flow_class.empty() || find_scheduler(std::string(row.flow_class)));
    NamedScheduler found;
    ASSERT_NO_THROW(found = named(first));
    EXPECT_EQ(found.info, info);
    for (const auto& [key, value] : found.settings.items())
      EXPECT_EQ(std::count(info->config_keys.begin(), info->config_keys.end(), key), 1) << key;
    EXPECT_NO_THROW(info->make(found.settings, "scheduler"));
  }
}

}  // namespace
}  // namespace omnirt
