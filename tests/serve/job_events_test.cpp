#include "serve/job_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;

std::vector<std::string> types_of(JobEvents& events, const std::string& job) {
  std::vector<std::string> types;
  events.listen(job, 0, [&](const JobEvent& event) { types.push_back(event.type); });
  return types;
}

TEST(JobEvents, OfTheLastEndedJobsAreWholeAndOfEarlierOnesTheirStates) {
  JobEvents events;
  for (size_t i = 0; i <= JobEvents::most_whole; ++i) {
    const std::string job = std::to_string(i);
    events.add(job, 1, "state", "{}");
    events.add(job, 1, "progress", "{}");
    events.add(job, 1, "preview", "{}");
    events.add(job, 1, "state", "{}", /*last=*/true);
  }
  EXPECT_THAT(types_of(events, "0"), ElementsAre("state", "state"));
  EXPECT_THAT(types_of(events, "1"), ElementsAre("state", "progress", "state"));
}

TEST(JobEvents, AListenerThatThrowsTakesNothingFromOthers) {
  JobEvents events;
  size_t seen = 0;
  events.listen("a", -1, [](const JobEvent&) { throw std::out_of_range("substr"); });
  events.listen("a", -1, [&](const JobEvent&) { ++seen; });
  events.add("a", 1, "progress", "{}");
  events.add("a", 1, "state", "{}", /*last=*/true);
  EXPECT_EQ(seen, 2u);
}

}  // namespace
}  // namespace omnirt::serve
