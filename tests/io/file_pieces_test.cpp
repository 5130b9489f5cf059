#include "io/file_pieces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::HasSubstr;

TEST(FilePieces, AreTheFilesBytes) {
  TempFolder temp;
  std::string text(100'000, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 251);
  write_file(temp / "a", text);
  FilePieces pieces(temp / "a");
  EXPECT_EQ(pieces.bytes(), text.size());
  for (size_t at : {size_t{0}, size_t{4095}, text.size() - 300}) {
    pieces.expect(at, 300);
    auto piece = pieces.read(at, 300);
    EXPECT_EQ(std::memcmp(piece.data(), text.data() + at, 300), 0) << at;
  }
  EXPECT_TRUE(pieces.read(7, 0).empty());
}

TEST(FilePieces, OfAFileThatBecameShorterAreRefused) {
  TempFolder temp;
  write_file(temp / "a", std::string(1000, 'x'));
  FilePieces pieces(temp / "a");
  std::filesystem::resize_file(temp / "a", 500);
  EXPECT_THAT(message_of<InvalidFile>([&] { pieces.read(400, 200); }), HasSubstr("shorter"));
  EXPECT_THAT(message_of<InvalidFile>([&] { FilePieces(temp / "none"); }), HasSubstr("none"));
}

}  // namespace
}  // namespace omnirt::io
