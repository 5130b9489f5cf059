#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/python_json.hpp"
#include "schedulers/scheduler.hpp"
#include "source_paths.hpp"

namespace omnirt {
namespace {

TEST(SchedulerCatalogue, GivesEachSchedulerNamesOfItsOwnAndAGolden) {
  std::set<std::string> names;
  for (const SchedulerInfo& info : all_schedulers()) {
    EXPECT_TRUE(names.insert(info.class_name).second) << info.class_name;
    for (const std::string& name : info.short_names) EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(info.short_names.empty()) << info.class_name;
    EXPECT_FALSE(info.summary.empty()) << info.class_name;
  }
  // Each has its file of goldens, and each file its scheduler.
  size_t goldens = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("tests/goldens/schedulers").string()))
    goldens += names.contains(entry.path().stem().string());
  EXPECT_EQ(all_schedulers().size(), goldens);
}

TEST(SchedulerCatalogue, FindsAClassNameAndAShortNameInAnyCase) {
  ASSERT_NE(find_scheduler("EulerDiscreteScheduler"), nullptr);
  EXPECT_EQ(find_scheduler("eulerdiscretescheduler"), find_scheduler("EulerDiscreteScheduler"));
  EXPECT_EQ(find_scheduler("Euler-Discrete")->class_name, "EulerDiscreteScheduler");
  EXPECT_EQ(find_scheduler("dpm-solver")->class_name, "DPMSolverMultistepScheduler");
  EXPECT_EQ(find_scheduler("kdpm2-ancestral")->class_name, "KDPM2AncestralDiscreteScheduler");
  EXPECT_EQ(find_scheduler("euler-discreet"), nullptr);
  EXPECT_EQ(find_scheduler(""), nullptr);
}

TEST(SchedulerCatalogue, ListsTheKeysThatAConfigCanHold) {
  const auto& keys = find_scheduler("ddim")->config_keys;
  auto has = [&](const char* key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  EXPECT_TRUE(has("beta_schedule"));
  EXPECT_TRUE(has("set_alpha_to_one"));
  EXPECT_FALSE(has("use_karras_sigmas"));
}

TEST(SchedulerCatalogue, LeavesTheKeysOfOtherSchedulersAside) {
  Json config = {{"_class_name", "EulerDiscreteScheduler"},
                 {"use_karras_sigmas", true},
                 {"algorithm_type", "sde-dpmsolver"},
                 {"skip_prk_steps", true}};
  EXPECT_NO_THROW(find_scheduler("ddim")->make(config, "scheduler"));
}

TEST(SchedulerConfigText, ReadsTheInfinitiesThatTheReferenceWrites) {
  Json config = parse_python_json(
      R"({"lambda_min_clipped": -Infinity, "note": "NaN \" Infinity", "solver_order": 3})", "file");
  EXPECT_TRUE(config["lambda_min_clipped"].is_null());
  EXPECT_EQ(config["note"], "NaN \" Infinity");
  EXPECT_NO_THROW(find_scheduler("dpm-solver")->make(config, "scheduler"));
}

TEST(SchedulerConfigText, RefusesWhatIsNotJson) {
  EXPECT_THROW(parse_python_json("{\"a\": Infinite}", "file"), InvalidFile);
  EXPECT_THROW(parse_python_json("{\"a\": \"", "file"), InvalidFile);
}

}  // namespace
}  // namespace omnirt
