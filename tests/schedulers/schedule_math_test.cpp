#include <gtest/gtest.h>

#include <algorithm>

#include "schedulers/incomplete_beta.hpp"
#include "schedulers/numpy_math.hpp"
#include "schedulers/sigma_schedule.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {
namespace {

TEST(NumpyMath, RoundsHalvesToEven) {
  EXPECT_EQ(np::round(0.5), 0);
  EXPECT_EQ(np::round(1.5), 2);
  EXPECT_EQ(np::round(499.5), 500);
  EXPECT_EQ(np::round(500.5), 500);
}

TEST(NumpyMath, LinspaceOfOneValueIsItsStart) {
  EXPECT_EQ(np::linspace(3, 9, 1), std::vector<double>{3});
  EXPECT_EQ(np::linspace(0, 999, 2), (std::vector<double>{0, 999}));
}

TEST(NumpyMath, ArangeCanHoldOneValueMoreThanItsQuotient) {
  EXPECT_EQ(np::arange(1000, 0, -1000.0 / 30).size(), 30U);
  EXPECT_EQ(np::arange(1000, 0, -1000.0 / 61).size(), 62U);  // as numpy
}

TEST(NumpyMath, InterpolatesAndIsFlatBeyondTheEnds) {
  std::vector<float> table = {1, 3, 7};
  EXPECT_EQ(np::interp(-1, table), 1);
  EXPECT_EQ(np::interp(0.5, table), 2);
  EXPECT_EQ(np::interp(2, table), 7);
  EXPECT_EQ(np::interp(1000, table), 7);
}

TEST(NumpyMath, LogIsNumpysToTheBit) {
  // numpy.log(numpy.float32(x)); std::log rounds the next three otherwise.
  EXPECT_EQ(np::log(1.0F), 0.0F);
  EXPECT_EQ(np::log(38.4799767F), 3.65013814F);
  EXPECT_EQ(np::log(3.28175282F), 1.18837774F);
  EXPECT_EQ(np::log(4.80534077F), 1.5697279F);
  EXPECT_EQ(np::log(14.6146421F), 2.682024F);
  EXPECT_EQ(np::log(0.0291671585F), -3.53471184F);
}

// scipy.stats.beta.ppf
TEST(IncompleteBeta, QuantilesEqualScipysToTwelveDigits) {
  EXPECT_NEAR(beta_quantile(0.001, 0.6, 0.6), 1.855873851745199e-05, 1e-12);
  EXPECT_NEAR(beta_quantile(0.1, 0.6, 0.6), 0.039584405588780847, 1e-12);
  EXPECT_NEAR(beta_quantile(0.37, 0.6, 0.6), 0.32279400209736148, 1e-12);
  EXPECT_NEAR(beta_quantile(0.5, 0.6, 0.6), 0.50000000000000011, 1e-12);
  EXPECT_NEAR(beta_quantile(0.93, 0.6, 0.6), 0.97805616531078499, 1e-12);
  EXPECT_NEAR(beta_quantile(0.9999, 0.6, 0.6), 0.99999960016228417, 1e-12);
  EXPECT_NEAR(beta_quantile(0.25, 2.0, 3.0), 0.24302208375607628, 1e-12);
  EXPECT_NEAR(beta_quantile(0.7, 0.3, 5.0), 0.053572050363255783, 1e-12);
  EXPECT_EQ(beta_quantile(0, 0.6, 0.6), 0);
  EXPECT_EQ(beta_quantile(1, 0.6, 0.6), 1);
}

TEST(IncompleteBeta, TheDistributionUndoesTheQuantile) {
  for (double q = 0.001; q < 1; q += 0.037) {
    EXPECT_NEAR(beta_cdf(beta_quantile(q, 0.6, 0.6), 0.6, 0.6), q, 1e-13);
  }
}

TEST(TimestepSpacing, LeadingStartsAtTheOffset) {
  SpacingConfig spacing{.timestep_spacing = "leading", .steps_offset = 1};
  EXPECT_EQ(table_timesteps(spacing, 1000, 4), (std::vector<double>{751, 501, 251, 1}));
}

TEST(TimestepSpacing, TrailingEndsOneStrideAboveTheStart) {
  SpacingConfig spacing{.timestep_spacing = "trailing"};
  EXPECT_EQ(table_timesteps(spacing, 1000, 4), (std::vector<double>{999, 749, 499, 249}));
  EXPECT_EQ(table_timesteps(spacing, 1000, 61).size(), 61U);  // without numpy's surplus value
}

TEST(SigmaSchedule, SpreadsKeepTheEndsThatTheyAreGiven) {
  for (auto set :
       {&SigmaSpreadConfig::use_karras_sigmas, &SigmaSpreadConfig::use_exponential_sigmas,
        &SigmaSpreadConfig::use_beta_sigmas}) {
    SigmaSpreadConfig config{.sigma_min = 0.1, .sigma_max = 10.0};
    config.*set = true;
    std::vector<double> sigmas = spread_sigmas(config, 20, 0.01, 8);
    EXPECT_NEAR(sigmas.front(), 10, 1e-12);
    EXPECT_NEAR(sigmas.back(), 0.1, 1e-12);
    EXPECT_TRUE(std::is_sorted(sigmas.rbegin(), sigmas.rend()));
  }
}

TEST(SigmaSchedule, OneFlowStepFromNoiseStaysWhereItIsUnderATerminal) {
  std::vector<double> sigmas = {1.0};
  stretch_to_terminal(sigmas, 0.1);
  EXPECT_EQ(sigmas, std::vector<double>{1.0});
}

}  // namespace
}  // namespace omnirt
