// A model that lists what it was made to draw says so where a prompt names none of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

Proposal checked(const std::string& model, const Json& prompt) {
  GenerateRequest request;
  request.model = model;
  request.inputs["prompt"] = prompt;
  return engine().check(request, {});
}

auto unknown(const std::string& prompt, const std::string& near) {
  return Contains(AllOf(Field(&Finding::field, "inputs.prompt"), Field(&Finding::value, prompt),
                        Field(&Finding::message, HasSubstr("none of the 169 things")),
                        Field(&Finding::way_out, HasSubstr(near))));
}

TEST(KnownThings, OfTheEmbeddedModelsAreNearestToAPromptThatNamesNone) {
  for (const char* model : {"emoji", "emoji-sd"}) {
    SCOPED_TRACE(model);
    EXPECT_THAT(checked(model, "a blue apple").warnings, unknown("a blue apple", "red apple"));
    EXPECT_THAT(checked(model, "A Red Apple on a blue background").warnings,
                Not(about("inputs.prompt")));
  }
}

TEST(KnownThings, AreLookedForInEachPrompt) {
  Proposal two = checked("emoji", {"a red apple", "a castel"});
  EXPECT_TRUE(two.ok());
  EXPECT_THAT(two.warnings, unknown("a castel", "castle"));
  EXPECT_THAT(two.warnings, Not(Contains(Field(&Finding::value, "a red apple"))));
}

// A copy of the embedded model's index and configs, by path, with a list of its own.
class ListOfAFolder : public ::testing::Test {
 protected:
  ListOfAFolder() {
    fs::create_directories(folder_.path());
    for (const auto& entry : fs::directory_iterator(source_path("models/emoji"))) {
      if (entry.path().filename() != "things.txt")
        fs::create_symlink(entry.path(), folder_.path() / entry.path().filename());
    }
  }
  void list(const std::string& text) const { std::ofstream(folder_.path() / "things.txt") << text; }
  Proposal check() const { return checked(folder_.path().string(), "a blue apple"); }

 private:
  TemporaryPath folder_{"things"};
};

TEST_F(ListOfAFolder, MakesNoWarningWhereThereIsNone) {
  EXPECT_THAT(check().warnings, Not(about("inputs.prompt")));
}

TEST_F(ListOfAFolder, IsTheFoldersOwn) {
  list("blue apple\n");
  EXPECT_THAT(check().warnings, Not(about("inputs.prompt")));
  list("sea horse\n");
  EXPECT_THAT(check().warnings, about("inputs.prompt", "none of the 1 things"));
}

TEST_F(ListOfAFolder, IsRefusedByItsFileWhereItIsNotOne) {
  list("caf\xe9\n");
  EXPECT_THAT(check().errors, about("things.txt", "UTF-8"));
  list(std::string(100, 'x'));
  EXPECT_THAT(check().errors, about("things.txt", "64 bytes"));
}

}  // namespace
}  // namespace omnirt::testing
