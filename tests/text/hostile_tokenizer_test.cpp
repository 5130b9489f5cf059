// Tokenizer folders that were made to take memory or time: refused, by what is wrong with them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "base/error.hpp"
#include "text/clip_tokenizer.hpp"
#include "text/precompiled_charsmap.hpp"
#include "text/support.hpp"
#include "text/t5_tokenizer.hpp"

namespace omnirt::text {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string word(uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), 4);
}

// Replaces 'a' by what is at `offset` of `texts`. `leaf` is the bits that mark its unit.
std::string charsmap(const std::string& texts, uint32_t offset = 0, uint32_t leaf = 1U << 31) {
  std::vector<uint32_t> units(1024);
  constexpr uint32_t first = 256, second = 512;
  units[0] = first << 10;
  const uint32_t at = first ^ 'a';
  units[at] = second << 10 | 1U << 8 | 'a';
  units[at ^ second] = leaf | offset;
  std::string blob = word(static_cast<uint32_t>(units.size() * 4));
  for (uint32_t unit : units) blob += word(unit);
  return blob + texts;
}

std::string refusal(const std::string& blob) {
  try {
    PrecompiledCharsmap(blob, "spiece.model");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "";
}

std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  return out + static_cast<char>(size) + bytes;
}

std::string piece(const std::string& text, float score, int type = 1) {
  return field(1, field(1, text) + "\x15" + word(std::bit_cast<uint32_t>(score)) + "\x18" +
                      static_cast<char>(type));
}

const std::string& common_pieces() {
  static const std::string all = piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2) +
                                 piece("\u2581", -1) + piece("a", -2);
  return all;
}

T5Tokenizer t5(const std::string& model) {
  TemporaryFolder folder;
  folder.write("spiece.model", model);
  folder.write("tokenizer_config.json", "{}");
  return T5Tokenizer::from_folder(folder.path());
}

TEST(Charsmap, ReplacesWhatIsWellFormed) {
  PrecompiledCharsmap map(charsmap("bcd"), "m");
  EXPECT_EQ(map.normalize("xa", 100).text, "xbcd");
}

TEST(Charsmap, RefusesReplacementsThatAreNoTextOfTheirOwn) {
  EXPECT_EQ(refusal(charsmap(std::string(256, 'b'))), "");
  EXPECT_THAT(refusal(charsmap(std::string(257, 'b'))), HasSubstr("256"));
  EXPECT_THAT(refusal(charsmap("x\u00e9", 2)), HasSubstr("begin at a character"));
  EXPECT_THAT(refusal(charsmap("b", 0x7fffffff)), HasSubstr("begin at a character"));
  EXPECT_THAT(refusal(charsmap("b", 0, 0)), HasSubstr("leaf is missing"));
}

TEST(Charsmap, StopsWhereTheOutcomeIsLongerThanAllowed) {
  PrecompiledCharsmap map(charsmap(std::string(256, 'b')), "m");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "a\u0301";  // one character each
  EXPECT_LE(map.normalize(text, 5000).text.size(), 5000u + 258u);
  // One grapheme of any length.
  std::string marks = "a";
  for (int i = 0; i < 1000; ++i) marks += "\u0301";
  EXPECT_LE(map.normalize(marks, 100).text.size(), 100u + 258u);
}

TEST(T5Tokenizer, RefusesAPromptThatReplacementsMultiply) {
  T5Tokenizer tokenizer = t5(common_pieces() + field(3, field(2, charsmap(std::string(256, 'a')))));
  EXPECT_EQ(tokenizer.encode_words("a").size(), 257u);
  EXPECT_THAT([&] { tokenizer.encode_words(std::string(5000, 'a'), "prompt"); },
              ThrowsMessage<InvalidRequest>(HasSubstr("replacements make more than")));
}

TEST(T5Tokenizer, RefusesAPromptWhosePiecesOverlapTooMuch) {
  std::string model = common_pieces();
  for (int i = 100; i <= 1024; i += 100) model += piece(std::string(i, 'a'), -3);
  T5Tokenizer tokenizer = t5(model);
  EXPECT_THAT([&] { tokenizer.encode_words(std::string(100'000, 'a')); },
              ThrowsMessage<InvalidRequest>(HasSubstr("overlap too much")));
}

TEST(T5Tokenizer, RefusesAPieceAndATokenThatAreTooLong) {
  EXPECT_THAT([&] { t5(common_pieces() + piece(std::string(1025, 'b'), -3)); },
              ThrowsMessage<InvalidFile>(HasSubstr("1025 bytes; the limit is 1024")));
  EXPECT_THAT([&] { t5(common_pieces() + piece(std::string(257, 'b'), 0, 4)); },
              ThrowsMessage<InvalidFile>(HasSubstr("an added token of 257 bytes")));
}

TEST(T5Tokenizer, RefusesScoresThatAreNoneOfAPiece) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float score : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, -1e7F}) {
    EXPECT_THAT([&] { t5(common_pieces() + piece("b", score)); },
                ThrowsMessage<InvalidFile>(HasSubstr("a piece's score")));
  }
  t5(common_pieces() + piece("b", -1e5F));
}

TEST(T5Tokenizer, RefusesMoreAddedTokensThanAnyHas) {
  std::string model = common_pieces();
  for (int i = 0; i < 4100; ++i) model += piece(fmt::format("t{}", i), 0, 4);
  EXPECT_THAT([&] { t5(model); }, ThrowsMessage<InvalidFile>(HasSubstr("more than 4096")));
}

}  // namespace
}  // namespace omnirt::text
