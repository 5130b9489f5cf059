#include "serve/step_sharing.hpp"

#include <gtest/gtest.h>

namespace omnirt::serve {
namespace {

// So many that all that saves time pays.
constexpr size_t long_line = 1000;

void learn(StepSharing& sharing, size_t runs, double ms, const std::string& work = "w") {
  for (size_t i = 0; i < StepSharing::samples; ++i) sharing.learn(work, runs, ms);
}

TEST(StepSharing, IsTriedOnceAStepOfOneRunWasMeasured) {
  StepSharing sharing(ShareSteps::automatic);
  EXPECT_EQ(sharing.runs("w", 4, 4), 1u);
  learn(sharing, 1, 10);
  EXPECT_EQ(sharing.runs("w", 4, 4), 4u);
  EXPECT_EQ(sharing.runs("w", 1, 1), 1u);
  EXPECT_EQ(sharing.runs("other", 4, 4), 1u);
}

TEST(StepSharing, StaysWhereItPays) {
  StepSharing sharing(ShareSteps::automatic);
  learn(sharing, 1, 10);
  learn(sharing, 4, 40 / StepSharing::pays_from - 0.1);
  EXPECT_EQ(sharing.runs("w", 4, long_line), 4u);
  EXPECT_GE(*sharing.gain("w", 4), StepSharing::pays_from);
}

TEST(StepSharing, EndsWhereItDoesNot) {
  StepSharing sharing(ShareSteps::automatic);
  learn(sharing, 1, 10);
  learn(sharing, 4, 40 / StepSharing::pays_from + 0.1);
  EXPECT_EQ(sharing.runs("w", 4, long_line), 1u);
  // Of three nothing is known yet.
  EXPECT_EQ(sharing.runs("w", 3, long_line), 3u);
}

TEST(StepSharing, TakesTheNumberOfRunsThatGainsMost) {
  StepSharing sharing(ShareSteps::automatic);
  learn(sharing, 1, 10);
  learn(sharing, 2, 14);
  learn(sharing, 3, 25);
  learn(sharing, 4, 60);
  EXPECT_EQ(sharing.runs("w", 4, long_line), 2u);
  EXPECT_EQ(sharing.runs("w", 3, long_line), 2u);
}

// One after the other four runs end after 10, 20, 30 and 40 ms per step, together all after 28: of
// four alone in line those that would go first lose more than the last one gains.
TEST(StepSharing, PaysWhereThoseInLineEndEarlierOnAverage) {
  StepSharing sharing(ShareSteps::automatic);
  learn(sharing, 1, 10);
  learn(sharing, 2, 20);
  learn(sharing, 3, 30);
  learn(sharing, 4, 28);
  EXPECT_EQ(sharing.runs("w", 4, 4), 1u);
  // Each one behind gains 12 of the 12 that are lost.
  EXPECT_EQ(sharing.runs("w", 4, 5), 1u);
  EXPECT_EQ(sharing.runs("w", 4, 6), 4u);
}

TEST(StepSharing, AnEntryIsTheLeastOfItsStepsAndStays) {
  StepSharing sharing(ShareSteps::automatic);
  learn(sharing, 1, 10);
  for (double ms : {1000.0, 900.0, 20.0, 30.0, 900.0}) sharing.learn("w", 2, ms);
  learn(sharing, 2, 5);
  EXPECT_EQ(*sharing.gain("w", 2), 1);
}

TEST(StepSharing, WhatCameApartIsNotTriedAgain) {
  for (ShareSteps how : {ShareSteps::automatic, ShareSteps::on}) {
    StepSharing sharing(how);
    learn(sharing, 1, 10);
    sharing.refuse("w", 4);
    EXPECT_EQ(sharing.runs("w", 4, long_line), 1u);
    EXPECT_EQ(sharing.runs("w", 3, long_line), 3u);
  }
}

TEST(StepSharing, OnAndOffLookAtNothing) {
  EXPECT_EQ(StepSharing(ShareSteps::on).runs("w", 4, 4), 4u);
  StepSharing off(ShareSteps::off);
  learn(off, 1, 10);
  EXPECT_EQ(off.runs("w", 4, long_line), 1u);
}

TEST(StepSharing, ForgetsTheWorkThatWasUsedLongestAgo) {
  StepSharing sharing(ShareSteps::automatic);
  for (size_t i = 0; i <= StepSharing::most_works; ++i) {
    learn(sharing, 1, 10, std::to_string(i));
    if (i < 2) learn(sharing, 2, 10, std::to_string(i));
  }
  EXPECT_FALSE(sharing.gain("0", 2));
  EXPECT_TRUE(sharing.gain("1", 2));
}

}  // namespace
}  // namespace omnirt::serve
