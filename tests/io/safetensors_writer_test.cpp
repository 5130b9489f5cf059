#include "io/safetensors_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/temp_folder.hpp"
#include "source_paths.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path goldens = source_path("tests/goldens/safetensors");
constexpr size_t limit = 1 << 20;

TensorView byte_tensor(const std::string& name, std::string_view bytes) {
  return {name, Dtype::u8, {static_cast<int64_t>(bytes.size())}, std::as_bytes(std::span(bytes))};
}

// Reads a file and writes the same tensors, given in the reverse order.
void rewrite(const std::filesystem::path& from, const std::filesystem::path& to) {
  auto file = SafetensorsFile::open(from);
  std::vector<TensorView> tensors;
  for (const TensorEntry& e : file->entries())
    tensors.push_back({e.name, e.dtype, e.shape, file->data(e)});
  std::ranges::reverse(tensors);
  write_safetensors(to, tensors, file->metadata());
}

TEST(SafetensorsWriter, WritesTheBytesThatTheReferenceWrites) {
  TempFolder folder;
  rewrite(goldens / "mixed.safetensors", folder / "a.safetensors");
  EXPECT_EQ(read_file(folder / "a.safetensors", limit),
            read_file(goldens / "mixed.safetensors", limit));
}

TEST(SafetensorsWriter, WritesAFileWithoutTensorsAsTheReferenceDoes) {
  TempFolder folder;
  rewrite(goldens / "empty.safetensors", folder / "a.safetensors");
  EXPECT_EQ(read_file(folder / "a.safetensors", limit),
            read_file(goldens / "empty.safetensors", limit));
}

TEST(SafetensorsWriter, AlignsEveryTensor) {
  TempFolder folder;
  std::vector<TensorView> tensors{byte_tensor("a", "123"), byte_tensor("b", "12345678")};
  tensors[1].dtype = Dtype::f64;
  tensors[1].shape = {1};
  write_safetensors(folder / "a.safetensors", tensors);
  auto file = SafetensorsFile::open(folder / "a.safetensors");
  for (const TensorEntry& e : file->entries()) EXPECT_TRUE(e.aligned) << e.name;
}

TEST(SafetensorsWriter, KeepsHostileTextInNamesAndMetadata) {
  TempFolder folder;
  const std::string text("\0\x1F\"\\\x7F/\n\xF0\x9F\x98\x80", 11);
  std::vector<TensorView> tensors{byte_tensor(text, "x")};
  write_safetensors(folder / "a.safetensors", tensors, {{text, text}});
  auto file = SafetensorsFile::open(folder / "a.safetensors");
  EXPECT_TRUE(file->find(text));
  EXPECT_EQ(file->metadata().at(text), text);
}

TEST(SafetensorsWriter, RefusesTwoTensorsOfOneName) {
  TempFolder folder;
  std::vector<TensorView> tensors{byte_tensor("w", "1"), byte_tensor("v", "2"),
                                  byte_tensor("w", "3")};
  EXPECT_THAT(
      message_of<InvalidRequest>([&] { write_safetensors(folder / "a.safetensors", tensors); }),
      AllOf(HasSubstr("a.safetensors"), HasSubstr("two tensors have the name 'w'")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SafetensorsWriter, RefusesTheNameOfTheMetadata) {
  TempFolder folder;
  std::vector<TensorView> tensors{byte_tensor("__metadata__", "1")};
  EXPECT_THAT(
      message_of<InvalidRequest>([&] { write_safetensors(folder / "a.safetensors", tensors); }),
      HasSubstr("'__metadata__'"));
}

TEST(SafetensorsWriter, RefusesTextThatIsNotUtf8) {
  TempFolder folder;
  EXPECT_THAT(
      message_of<InvalidRequest>([&] {
        write_safetensors(folder / "a.safetensors", std::vector<TensorView>{}, {{"k", "\xFF"}});
      }),
      HasSubstr("not UTF-8"));
}

TEST(SafetensorsWriter, RefusesBytesThatAreNotThoseOfTheShape) {
  TempFolder folder;
  std::vector<TensorView> tensors{byte_tensor("w", "123")};
  tensors[0].shape = {4};
  EXPECT_THAT(
      message_of<InternalError>([&] { write_safetensors(folder / "a.safetensors", tensors); }),
      AllOf(HasSubstr("U8 of shape [4]"), HasSubstr("3 bytes are given")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SafetensorsWriter, NamesAMissingFolder) {
  TempFolder folder;
  EXPECT_THAT(message_of<InvalidRequest>([&] {
                write_safetensors(folder / "gone/a.safetensors", std::vector<TensorView>{});
              }),
              HasSubstr("gone' does not exist"));
}

TEST(SafetensorsWriter, ReplacesAFileThatIsMapped) {
  TempFolder folder;
  std::vector<TensorView> tensors{byte_tensor("w", "old")};
  write_safetensors(folder / "a.safetensors", tensors);
  auto file = SafetensorsFile::open(folder / "a.safetensors");
  // The new file is made of the old one's mapped bytes.
  std::vector<TensorView> renamed{{"v", Dtype::u8, {3}, file->data(file->entries()[0])}};
  write_safetensors(folder / "a.safetensors", renamed);
  EXPECT_TRUE(SafetensorsFile::open(folder / "a.safetensors")->find("v"));
  EXPECT_THAT(folder.names(), ElementsAre("a.safetensors"));
}

}  // namespace
}  // namespace omnirt::io
