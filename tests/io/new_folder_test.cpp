#include "io/new_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/temp_folder.hpp"
#include "io/temporaries.hpp"

namespace omnirt::io {
namespace {
using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NewFolder, IsThereWholeOrNotAtAll) {
  TempFolder folder;
  {
    NewFolder made("to", folder / "a");
    write_file(made.path() / "one", std::string_view("1"));
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
  NewFolder made("to", folder / "a");
  write_file(made.path() / "one", std::string_view("1"));
  made.commit();
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  EXPECT_EQ(read_file(folder / "a/one", 9), "1");
}

TEST(NewFolder, HasThePermissionsThatAnyFolderHas) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "plain");
  NewFolder made("to", folder / "a");
  made.commit();
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions(),
            std::filesystem::status(folder / "plain").permissions());
}

TEST(NewFolder, NamesAPlaceWhereNoneCanBeMade) {
  TempFolder folder;
  EXPECT_THAT(message_of<InvalidRequest>([&] { NewFolder made("to", folder / "no/a"); }),
              AllOf(HasSubstr("to = "), HasSubstr("cannot make a folder")));
}

TEST(TemporariesDeathTest, AreGoneWhenTheProcessQuits) {
  TempFolder folder;
  EXPECT_EXIT(
      {
        NewFolder made("to", folder / "a");
        write_file(made.path() / "one", std::string_view("1"));
        AtomicFile inner(made.path() / "two");
        AtomicFile file(folder / "b");
        write_file(folder / "whole", std::string_view("1"));
        quit_without_temporaries(130);
      },
      ::testing::ExitedWithCode(130), "");
  EXPECT_THAT(folder.names(), ElementsAre("whole"));
}

}  // namespace
}  // namespace omnirt::io
