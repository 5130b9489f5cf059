#include "serve/shared_simulation.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <map>
#include <string>

namespace omnirt::serve {
namespace {

int64_t number_of(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

// OMNIRT_JOB_LIVES=1000000 is the whole of it; OMNIRT_JOB_SEED=N replays a seed.
TEST(SharedSimulation, NoAcceptedJobIsLostOrDeliveredTwiceWhoeverFails) {
  spdlog::set_level(spdlog::level::off);
  const int64_t lives = number_of("OMNIRT_JOB_LIVES", 30'000);
  const int64_t only = number_of("OMNIRT_JOB_SEED", 0);
  constexpr int64_t per_seed = 5'000;
  SharedSimulation::Counts sum;
  for (int64_t seed = only ? only : 1; only ? seed == only : seed <= lives / per_seed; ++seed) {
    SharedSimulation simulation(static_cast<uint64_t>(seed));
    ASSERT_NO_THROW(simulation.run(per_seed)) << "OMNIRT_JOB_SEED=" << seed << " replays it";
    const SharedSimulation::Counts& now = simulation.counts();
    sum.accepted += now.accepted;
    sum.refused += now.refused;
    sum.crashes += now.crashes;
    sum.silences += now.silences;
    sum.broker_faults += now.broker_faults;
    sum.broker_restarts += now.broker_restarts;
    sum.void_results += now.void_results;
    sum.claims += now.claims;
    sum.passed_on += now.passed_on;
    sum.longest_without_owner_ms =
        std::max(sum.longest_without_owner_ms, now.longest_without_owner_ms);
    for (const auto& [state, count] : now.ended) sum.ended[state] += count;
  }
  RecordProperty("crashes", std::to_string(sum.crashes));
  RecordProperty("longest_without_owner_ms", std::to_string(sum.longest_without_owner_ms));
  if (only) return;
  // The faults that it is about took place.
  for (JobState state :
       {JobState::done, JobState::failed, JobState::cancelled, JobState::expired, JobState::dead})
    EXPECT_GT(sum.ended[state], 0) << name_of(state);
  const std::map<const char*, int64_t> faults{{"refused", sum.refused},
                                              {"crashes", sum.crashes},
                                              {"silences", sum.silences},
                                              {"broker faults", sum.broker_faults},
                                              {"broker restarts", sum.broker_restarts},
                                              {"void results", sum.void_results},
                                              {"claims", sum.claims},
                                              {"passed on", sum.passed_on},
                                              {"ms without owner", sum.longest_without_owner_ms}};
  for (const auto& [name, count] : faults) EXPECT_GT(count, 10) << name;
}

TEST(SharedSimulation, ASeedReplays) {
  spdlog::set_level(spdlog::level::off);
  auto counts = [](uint64_t seed) {
    SharedSimulation simulation(seed);
    simulation.run(500);
    return simulation.counts();
  };
  const auto first = counts(7), again = counts(7), other = counts(8);
  EXPECT_EQ(first.ended, again.ended);
  EXPECT_EQ(first.crashes, again.crashes);
  EXPECT_NE(first.refused, other.refused);
}

}  // namespace
}  // namespace omnirt::serve
