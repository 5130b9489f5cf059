#include <gtest/gtest.h>

#include "families/flux2/sizes.hpp"
#include "families/flux2/timesteps.hpp"

namespace omnirt::flux2 {
namespace {

TEST(Flux2Sizes, AreLimitedToAMillionPixelsAndCutToWholeLatents) {
  EXPECT_EQ(limited({1024, 1024}), (Size{1024, 1024}));
  EXPECT_EQ(limited({2000, 3000}), (Size{836, 1254}));
  EXPECT_EQ(in_whole_latents({2000, 3000}, 16), (Size{832, 1248}));
  EXPECT_EQ(in_whole_latents({100, 15}, 16), (Size{96, 0}));
}

// Values of the reference's compute_empirical_mu.
TEST(Flux2Timesteps, AreShiftedByTheImagesSizeAndTheStepsUpToALargeOne) {
  EXPECT_NEAR(empirical_mu(4096, 50), 2.0233511571292637, 1e-12);
  EXPECT_NEAR(empirical_mu(1024, 4), 2.0306897079499455, 1e-12);
  EXPECT_NEAR(empirical_mu(16, 8), 1.9148930720303832, 1e-12);
  EXPECT_NEAR(empirical_mu(8192, 4), 1.8433265, 1e-12);
  EXPECT_DOUBLE_EQ(empirical_mu(8192, 4), empirical_mu(8192, 50));
}

}  // namespace
}  // namespace omnirt::flux2
