#include "io/file_state.hpp"

#include <gtest/gtest.h>

#include "base/remembered.hpp"
#include "io/file.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::io {
namespace {
namespace fs = std::filesystem;
using omnirt::testing::TempFolder;

void write_long_ago(const fs::path& path, const std::string& text, int hours) {
  write_file(path, text);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST(FileState, DiffersOnceTheBytesDo) {
  const TempFolder temp;
  write_long_ago(temp / "a", "one", 3);
  const std::string before = file_state(temp / "a");
  EXPECT_NE(before, "");
  EXPECT_EQ(file_state(temp / "a"), before);
  write_long_ago(temp / "a", "two", 2);
  EXPECT_NE(file_state(temp / "a"), before);
}

// A second change within the same tick of the file's times would not be seen.
TEST(FileState, OfAFileThatIsJustWrittenSaysNothing) {
  const TempFolder temp;
  write_file(temp / "a", std::string_view("one"));
  fs::last_write_time(temp / "a", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(file_state(temp / "a"), "");
  EXPECT_EQ(files_state(temp.path()), "");
  EXPECT_EQ(file_state(temp / "missing"), "");
  EXPECT_EQ(file_state(temp.path()), "");
}

TEST(FileState, OfAFolderDiffersWithAnyOfItsFiles) {
  const TempFolder temp;
  write_long_ago(temp / "a", "one", 3);
  const std::string one = files_state(temp.path());
  write_long_ago(temp / "b", "two", 3);
  const std::string two = files_state(temp.path());
  fs::rename(temp / "b", temp / "c");
  const std::string renamed = files_state(temp.path());
  EXPECT_NE(one, "");
  EXPECT_NE(two, one);
  EXPECT_NE(renamed, two);
  EXPECT_EQ(files_state(temp / "a"), file_state(temp / "a"));
}

TEST(Remembered, ForgetsAllWhenOneMoreComes) {
  Remembered<int> known(2);
  EXPECT_FALSE(known.find("a"));
  known.keep("a", 1);
  known.keep("b", 2);
  EXPECT_EQ(known.find("a"), 1);
  known.keep("c", 3);
  EXPECT_FALSE(known.find("a"));
  EXPECT_EQ(known.find("c"), 3);
}

}  // namespace
}  // namespace omnirt::io
