#include "io/mapped_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::HasSubstr;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class MappedFileSources : public ::testing::TestWithParam<Source> {};
INSTANTIATE_TEST_SUITE_P(MappedFile, MappedFileSources,
                         ::testing::Values(Source::mapped, Source::read));

TEST_P(MappedFileSources, GivesTheFilesBytes) {
  TempFolder folder;
  write_file(folder / "a", std::string_view("some bytes"));
  EXPECT_EQ(text_of(*MappedFile::open(folder / "a", GetParam())), "some bytes");
}

TEST_P(MappedFileSources, GivesNoBytesOfAnEmptyFile) {
  TempFolder folder;
  write_file(folder / "a", std::string_view());
  EXPECT_TRUE(MappedFile::open(folder / "a", GetParam())->bytes().empty());
}

TEST_P(MappedFileSources, StartsAtAMultipleOf64) {
  TempFolder folder;
  write_file(folder / "a", std::string_view("x"));
  auto file = MappedFile::open(folder / "a", GetParam());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 64, 0U);
}

TEST_P(MappedFileSources, KeepsTheBytesOfAFileThatIsReplaced) {
  TempFolder folder;
  write_file(folder / "a", std::string(10000, 'o'));
  auto file = MappedFile::open(folder / "a", GetParam());
  write_file(folder / "a", std::string_view("new"));
  EXPECT_EQ(text_of(*file), std::string(10000, 'o'));
}

TEST_P(MappedFileSources, KeepsTheBytesOfAFileThatIsRemoved) {
  TempFolder folder;
  write_file(folder / "a", std::string_view("old"));
  auto file = MappedFile::open(folder / "a", GetParam());
  std::filesystem::remove(folder / "a");
  EXPECT_EQ(text_of(*file), "old");
}

TEST_P(MappedFileSources, HasTheSameBytesAfterARelease) {
  TempFolder folder;
  const std::string content = std::string(10000, 'a') + std::string(10000, 'b');
  write_file(folder / "a", content);
  auto file = MappedFile::open(folder / "a", GetParam());
  file->release(0, content.size());
  EXPECT_EQ(text_of(*file), content);
}

TEST_P(MappedFileSources, TakesAReleaseOutsideTheFile) {
  TempFolder folder;
  write_file(folder / "a", std::string(10000, 'a'));
  auto file = MappedFile::open(folder / "a", GetParam());
  file->release(5000, SIZE_MAX);
  file->release(SIZE_MAX, SIZE_MAX);
  EXPECT_EQ(text_of(*file), std::string(10000, 'a'));
}

TEST_P(MappedFileSources, NamesAMissingFile) {
  TempFolder folder;
  EXPECT_THAT(message_of<InvalidFile>([&] { MappedFile::open(folder / "gone", GetParam()); }),
              HasSubstr("gone: there is no such file"));
}

TEST_P(MappedFileSources, RefusesAFolder) {
  TempFolder folder;
  EXPECT_THAT(message_of<InvalidFile>([&] { MappedFile::open(folder.path(), GetParam()); }),
              HasSubstr("this is a folder"));
}

TEST_P(MappedFileSources, RefusesAPipeWithoutBlocking) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of<InvalidFile>([&] { MappedFile::open(folder / "pipe", GetParam()); }),
              HasSubstr("pipe, socket or device"));
}

TEST(MappedFile, ReadIntoMemoryOutlivesATruncation) {
  TempFolder folder;
  write_file(folder / "a", std::string(10000, 'o'));
  auto file = MappedFile::open(folder / "a", Source::read);
  std::filesystem::resize_file(folder / "a", 0);
  EXPECT_EQ(text_of(*file), std::string(10000, 'o'));
}

TEST(MappedFile, SaysThatThereIsNoRoomForAFile) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no file system in memory";
  // A sparse file: its size, that of the whole address space, is a number only.
  TempFolder folder("/dev/shm");
  write_file(folder / "a", std::string_view());
  std::filesystem::resize_file(folder / "a", uintmax_t{1} << 47);
  EXPECT_THAT(message_of<OutOfMemory>([&] { MappedFile::open(folder / "a", Source::read); }),
              HasSubstr("no room for its 140737488355328 bytes"));
}

}  // namespace
}  // namespace omnirt::io
