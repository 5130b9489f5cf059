#include "io/lost_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/mapped_file.hpp"
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

constexpr size_t size = 1 << 20;

// A mapped file of ones that has lost all but its first page; it is read to its end.
std::shared_ptr<const MappedFile> shrunk(const fs::path& path) {
  survive_lost_pages();
  write_file(path, std::string(size, '\1'));
  auto file = MappedFile::open(path);
  fs::resize_file(path, 4096);
  return file;
}

size_t sum(const MappedFile& file) {
  size_t all = 0;
  for (std::byte byte : file.bytes()) all += static_cast<size_t>(byte);
  return all;
}

TEST(LostPages, AreZerosAndTheFileIsNamed) {
  TempFolder folder;
  LostPages before;
  auto file = shrunk(folder / "a");
  EXPECT_FALSE(before.any());
  EXPECT_LT(sum(*file), size);
  EXPECT_TRUE(before.any());
  EXPECT_THAT(message_of<InvalidFile>([&] { before.check(); }),
              AllOf(HasSubstr((folder / "a").string()), HasSubstr("became shorter")));
  EXPECT_FALSE(LostPages().any());
}

TEST(LostPages, AreRememberedWhenTheMappingIsGone) {
  TempFolder folder;
  LostPages before;
  EXPECT_LT(sum(*shrunk(folder / "gone")), size);
  EXPECT_THAT(message_of<InvalidFile>([&] { before.check(); }), HasSubstr("gone"));
}

TEST(LostPages, OfAnInputKeepAnOutputFromBeingWritten) {
  TempFolder folder;
  auto input = shrunk(folder / "input");
  EXPECT_THAT(message_of<InvalidFile>([&] {
                AtomicFile output(folder / "output");
                output.write(std::to_string(sum(*input)));
                output.commit();
              }),
              HasSubstr("input"));
  EXPECT_THAT(folder.names(), ElementsAre("input"));
}

TEST(LostPages, ThatAreWrittenAsTheyAreNameTheInput) {
  TempFolder folder;
  auto input = shrunk(folder / "input");
  EXPECT_THAT(message_of<InvalidFile>([&] { write_file(folder / "output", input->bytes()); }),
              HasSubstr("input"));
  EXPECT_THAT(folder.names(), ElementsAre("input"));
}

// What was there before is the signal's own action, or a sanitizer's report.
#ifdef __SANITIZE_ADDRESS__
const ::testing::ExitedWithCode as_before(1);
constexpr const char* last_words = "AddressSanitizer: BUS";
#else
const ::testing::KilledBySignal as_before(SIGBUS);
constexpr const char* last_words = "";
#endif

TEST(LostPagesDeathTest, OfOtherMemoryEndTheProcessAsBefore) {
  TempFolder folder;
  write_file(folder / "a", std::string(size, '\1'));
  EXPECT_EXIT(
      {
        survive_lost_pages();
        OpenFile file = open_regular(folder / "a");
        void* page = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd.get(), 0);
        fs::resize_file(folder / "a", 0);
        _exit(*static_cast<volatile char*>(page));
      },
      as_before, last_words);
}

}  // namespace
}  // namespace omnirt::io
