#include "io/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::io {
namespace {

namespace fs = std::filesystem;
using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refused_read(const fs::path& path, size_t max_bytes = 100) {
  return message_of<InvalidFile>([&] { read_file(path, max_bytes); });
}

std::string refused_write(const fs::path& path) {
  return message_of<InvalidRequest>([&] { write_file(path, std::string_view("new")); });
}

TEST(ReadFile, GivesTheWholeFile) {
  TempFolder folder;
  const std::string content("a\0b\n", 4);
  write_file(folder / "a", content);
  EXPECT_EQ(read_file(folder / "a", 4), content);
}

TEST(ReadFile, SaysThatALinkLeadsNowhere) {
  TempFolder folder;
  fs::create_symlink("gone", folder / "link");
  EXPECT_THAT(refused_read(folder / "link"),
              HasSubstr("the file that it links to, gone, is missing"));
  const fs::path snapshot = folder / "models--someone--dream" / "snapshots";
  fs::create_directories(snapshot);
  fs::create_symlink("../blobs/abc", snapshot / "config.json");
  EXPECT_THAT(refused_read(snapshot / "config.json"), HasSubstr("omnirt pull someone/dream"));
}

TEST(ReadFile, GivesAnEmptyFile) {
  TempFolder folder;
  write_file(folder / "a", std::string_view());
  EXPECT_EQ(read_file(folder / "a", 0), "");
}

TEST(ReadFile, ReadsAFileWhoseSizeTheSystemDoesNotTell) {
  EXPECT_THAT(read_file("/proc/self/status", 1 << 20), HasSubstr("Pid:"));
}

TEST(ReadFile, BoundsAFileWhoseSizeTheSystemDoesNotTell) {
  EXPECT_THAT(refused_read("/proc/self/status", 10), HasSubstr("the limit is 10"));
}

TEST(ReadFile, NamesAMissingFile) {
  TempFolder folder;
  EXPECT_THAT(refused_read(folder / "gone.json"),
              AllOf(HasSubstr("gone.json"), HasSubstr("there is no such file")));
}

TEST(ReadFile, NamesAMissingFolder) {
  TempFolder folder;
  EXPECT_THAT(refused_read(folder / "gone/a.json"), HasSubstr("there is no such file"));
}

TEST(ReadFile, RefusesAFolder) {
  TempFolder folder;
  EXPECT_THAT(refused_read(folder.path()), HasSubstr("this is a folder"));
}

TEST(ReadFile, RefusesAPipeWithoutBlocking) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused_read(folder / "pipe"), HasSubstr("pipe, socket or device"));
}

TEST(ReadFile, RefusesADevice) {
  EXPECT_THAT(refused_read("/dev/zero"), HasSubstr("pipe, socket or device"));
}

TEST(ReadFile, RefusesAFileBeyondTheLimitWithBothNumbers) {
  TempFolder folder;
  write_file(folder / "a", std::string(11, 'x'));
  EXPECT_THAT(refused_read(folder / "a", 10),
              AllOf(HasSubstr("holds 11 bytes"), HasSubstr("the limit is 10")));
}

TEST(ReadFile, RefusesAPathThatIsCutByAZeroByte) {
  EXPECT_THAT(refused_read(std::string("/dev/null\0.json", 15)), HasSubstr("not a file's path"));
}

TEST(ReadFile, RefusesAnEmptyPath) {
  EXPECT_THAT(refused_read(""), HasSubstr("not a file's path"));
}

TEST(ReadFile, SaysThatPermissionIsMissing) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may read every file";
  TempFolder folder;
  write_file(folder / "a", std::string_view("x"));
  ::chmod((folder / "a").c_str(), 0);
  EXPECT_THAT(refused_read(folder / "a"), HasSubstr("permission denied"));
}

TEST(ReadJson, NamesTheFileOfMalformedJson) {
  TempFolder folder;
  write_file(folder / "config.json", std::string_view("{"));
  EXPECT_THAT(message_of<InvalidFile>([&] { read_json(folder / "config.json"); }),
              HasSubstr("config.json"));
}

TEST(ReadJson, ReadsAnObject) {
  TempFolder folder;
  write_file(folder / "config.json", std::string_view(R"({"a": [1, 2]})"));
  EXPECT_EQ(read_json(folder / "config.json")["a"][1], 2);
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  TempFolder folder;
  {
    AtomicFile file(folder / "a");
    file.write("half");
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, KeepsTheOldFileWithoutACommit) {
  TempFolder folder;
  write_file(folder / "a", std::string_view("old"));
  {
    AtomicFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(read_file(folder / "a", 10), "old");
  }
  EXPECT_EQ(read_file(folder / "a", 10), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, ReplacesTheOldFileAtTheCommit) {
  TempFolder folder;
  write_file(folder / "a", std::string_view("old"));
  write_file(folder / "a", std::string_view("new"));
  EXPECT_EQ(read_file(folder / "a", 10), "new");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, LetsTwoWritersOfOneFileEachWriteAWholeFile) {
  TempFolder folder;
  AtomicFile first(folder / "a"), second(folder / "a");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(folder / "a", 10), "first");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, WritesThroughASymbolicLink) {
  TempFolder folder;
  write_file(folder / "real", std::string_view("old"));
  fs::create_symlink("real", folder / "link");
  write_file(folder / "link", std::string_view("new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real", 10), "new");
}

TEST(AtomicFile, TakesANameAsLongAsTheFileSystemDoes) {
  TempFolder folder;
  write_file(folder / std::string(255, 'n'), std::string_view("x"));
  EXPECT_THAT(folder.names(), ElementsAre(std::string(255, 'n')));
}

TEST(AtomicFile, RefusesANameThatIsTooLong) {
  TempFolder folder;
  EXPECT_THAT(refused_write(folder / std::string(256, 'n')), HasSubstr("name is too long"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, NamesAMissingFolderAndMakesNone) {
  TempFolder folder;
  EXPECT_THAT(refused_write(folder / "gone/a.png"),
              AllOf(HasSubstr("a.png"), HasSubstr("gone' does not exist")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, RefusesAFolderAsTheTarget) {
  TempFolder folder;
  EXPECT_THAT(refused_write(folder.path()), HasSubstr("this is a folder"));
}

TEST(AtomicFile, RefusesATargetWithoutAName) {
  TempFolder folder;
  EXPECT_THAT(refused_write(folder.path() / ""), HasSubstr("not a file's path"));
}

TEST(AtomicFile, NeverReplacesADevice) {
  EXPECT_THAT(refused_write("/dev/null"), HasSubstr("pipe, socket or device"));
  struct stat info {};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(AtomicFile, SaysThatPermissionIsMissing) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write every file";
  TempFolder folder;
  ::chmod(folder.path().c_str(), 0500);
  EXPECT_THAT(refused_write(folder / "a"), HasSubstr("permission denied"));
  ::chmod(folder.path().c_str(), 0700);
}

unsigned mode_of(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(AtomicFile, HandsOnThePermissionsOfWhatItReplaces) {
  TempFolder folder;
  for (unsigned mode : {0600U, 0640U, 0644U, 0666U, 0755U}) {
    write_file(folder / "a", std::string_view("old"));
    ::chmod((folder / "a").c_str(), mode);
    write_file(folder / "a", std::string_view("new"));
    EXPECT_EQ(mode_of(folder / "a"), mode);
  }
}

TEST(AtomicFile, HandsOnTheOwnerWhereItMay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only the superuser may give a file away";
  TempFolder folder;
  constexpr uid_t someone = 4242;
  write_file(folder / "a", std::string_view("old"));
  ASSERT_EQ(::chown((folder / "a").c_str(), someone, someone), 0);
  ::chmod((folder / "a").c_str(), 0640);
  write_file(folder / "a", std::string_view("new"));
  struct stat info {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, someone);
  EXPECT_EQ(info.st_gid, someone);
  EXPECT_EQ(mode_of(folder / "a"), 0640U);
}

TEST(AtomicFile, ThatIsItsOwnersAloneIsSoFromTheStart) {
  TempFolder folder;
  AtomicFile file(folder / "a", Readers::owner);
  EXPECT_EQ(mode_of(folder / folder.names().front()), 0600U);
  file.commit();
  EXPECT_EQ(mode_of(folder / "a"), 0600U);
}

TEST(AtomicFile, ReplacesALinkToNothing) {
  TempFolder folder;
  fs::create_symlink(folder / "nowhere", folder / "link");
  write_file(folder / "link", std::string_view("new"));
  EXPECT_FALSE(fs::is_symlink(folder / "link"));
  EXPECT_THAT(folder.names(), ElementsAre("link"));
}

TEST(AtomicFile, LeavesNothingWhenAWriteFails) {
  TempFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small{100, before.rlim_max};
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string message =
      message_of<RunFailed>([&] { write_file(folder / "a", std::string(1000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("ulimit -f"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace omnirt::io
