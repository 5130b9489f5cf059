#include "serve/validated_jobs.hpp"

#include <gtest/gtest.h>

#include "request/validated_request.hpp"

namespace omnirt::serve {
namespace {

std::shared_ptr<const ValidatedRequest> some_request() {
  return std::make_shared<const ValidatedRequest>(Proposal(), GenerateRequest(), ValidateOptions());
}

TEST(ValidatedJobs, AreTakenOnce) {
  ValidatedJobs jobs;
  const auto one = some_request();
  jobs.keep("1", one);
  jobs.keep("2", nullptr);
  EXPECT_EQ(jobs.take("1"), one);
  EXPECT_EQ(jobs.take("1"), nullptr);
  EXPECT_EQ(jobs.take("2"), nullptr);
}

TEST(ValidatedJobs, OfTheNewestAreKept) {
  ValidatedJobs jobs;
  for (size_t i = 0; i <= ValidatedJobs::most_kept; ++i)
    jobs.keep(std::to_string(i), some_request());
  EXPECT_EQ(jobs.take("0"), nullptr);
  EXPECT_NE(jobs.take("1"), nullptr);
}

}  // namespace
}  // namespace omnirt::serve
