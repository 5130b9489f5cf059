#include "request/known_things.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "io/temp_folder.hpp"

namespace omnirt {
namespace {

using omnirt::testing::TempFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> things{"red apple", "green apple", "rocket", "smiling face"};

// What reading a list of this text says: its names, or the refusal.
std::vector<std::string> read(const std::string& text) {
  TempFolder model;
  std::ofstream(model.path() / things_file) << text;
  return read_known_things(model.path());
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "";
}

TEST(KnownThings, AreTheLinesOfAFileInTheModelsFolder) {
  EXPECT_THAT(read("red apple\n\nrocket\r\n  \nsun"), ElementsAre("red apple", "rocket", "sun"));
  EXPECT_THAT(read(""), IsEmpty());
}

TEST(KnownThings, AreNoneWhereAFolderHasNoList) {
  TempFolder model;
  EXPECT_THAT(read_known_things(model.path()), IsEmpty());
  EXPECT_THAT(read_known_things(""), IsEmpty());
}

TEST(KnownThings, AreRefusedBeyondTheirLimits) {
  EXPECT_THAT(refusal(std::string(70'000, '\n')), HasSubstr("things.txt"));
  EXPECT_THAT(refusal(std::string(65, 'a')), HasSubstr("more than 64 bytes"));
  std::string many;
  for (int i = 0; i < 1025; ++i) many += "a\n";
  EXPECT_THAT(refusal(many), HasSubstr("more than 1024 names"));
}

TEST(KnownThings, AreRefusedWhereTheListIsNotUtf8) {
  EXPECT_THAT(refusal("rocket\ncaf\xe9\n"), AllOf(HasSubstr("things.txt"), HasSubstr("UTF-8")));
}

TEST(KnownThings, AreFoundInAPromptAsWholeWordsInAnyCase) {
  EXPECT_FALSE(names_none_of("a red apple on a blue background", things));
  EXPECT_FALSE(names_none_of("Red-APPLE!", things));
  EXPECT_FALSE(names_none_of("the rocket", things));
  EXPECT_TRUE(names_none_of("a blue apple", things));
  EXPECT_TRUE(names_none_of("rockets", things));
  EXPECT_TRUE(names_none_of("apple red", things));
}

TEST(KnownThings, AreNotMissedInAPromptWithoutWords) {
  EXPECT_FALSE(names_none_of("", things));
  EXPECT_FALSE(names_none_of(" ?!", things));
}

TEST(KnownThings, NearAPromptShareAWordWithItOrAreASlipAway) {
  EXPECT_THAT(things_near("a blue apple", things), ElementsAre("red apple", "green apple"));
  EXPECT_THAT(things_near("a roket", things), Contains("rocket"));
  EXPECT_THAT(things_near("two dragons at night", things), IsEmpty());
}

TEST(KnownThings, OfALongPromptAreLookedForInItsFirstWords) {
  std::string words;
  for (int i = 0; i < 600; ++i) words += "and ";
  EXPECT_FALSE(names_none_of("a rocket " + words, things));
  EXPECT_TRUE(names_none_of(words + "a rocket", things));
}

}  // namespace
}  // namespace omnirt
