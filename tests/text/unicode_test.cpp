#include "text/unicode.hpp"

#include <gtest/gtest.h>

#include "io/utf8.hpp"

namespace omnirt::text {
namespace {

TEST(Utf8, RoundTripsEveryCodePoint) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    io::append_utf8(bytes, c);
    size_t pos = 0;
    ASSERT_EQ(next_codepoint(bytes, pos), c);
    ASSERT_EQ(pos, bytes.size());
  }
}

TEST(Utf8, ReplacesEachIllFormedPartOnce) {
  EXPECT_EQ(lossy_utf8("ok \xE7\x8C\xAB"), "ok \xE7\x8C\xAB");
  EXPECT_EQ(lossy_utf8("a\xFF\xFE"), "a\uFFFD\uFFFD");
  EXPECT_EQ(lossy_utf8("\xE7\x8C!"), "\uFFFD!");
  EXPECT_EQ(lossy_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(lossy_utf8("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD") << "E0 80 begins no character";
  EXPECT_EQ(lossy_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lossy_utf8("\xC3"), "\uFFFD");
}

TEST(Nfc, ComposesAndOrdersMarks) {
  EXPECT_EQ(nfc(U"e\u0301"), U"\u00E9");
  EXPECT_EQ(nfc(U"q\u0307\u0323"), U"q\u0323\u0307");
  EXPECT_EQ(nfc(U"\u1112\u1161\u11AB"), U"\uD55C");
  EXPECT_EQ(nfc(U"\u0958"), U"\u0915\u093C") << "excluded from composition";
  EXPECT_EQ(nfc(U"\u212B"), U"\u00C5");
}

TEST(Nfc, KeepsAHangulFillerBehindASyllable) {
  EXPECT_EQ(nfc(U"\uAC00\u11A7"), U"\uAC00\u11A7");
}

TEST(Nfc, KnowsNoMarkThatUnicode9DoesNotKnow) {
  // U+07FD has combining class 220 since Unicode 11; before, it keeps the accent from the letter.
  EXPECT_EQ(nfc(U"a\u07FD\u0301"), U"a\u07FD\u0301");
  EXPECT_EQ(nfc(U"\U00011935\U00011930"), U"\U00011935\U00011930");
  EXPECT_EQ(nfc(U"\U00011938"), U"\U00011938");
}

TEST(Nfc, SortsALongRunOfMarksInBoundedTime) {
  // By swapping neighbours this takes 10^10 steps; the test's time limit is the check.
  constexpr size_t count = 100000;
  std::u32string text = U"q" + std::u32string(count, U'\u0301') + std::u32string(count, U'\u0334');
  std::u32string expected =
      U"q" + std::u32string(count, U'\u0334') + std::u32string(count, U'\u0301');
  EXPECT_EQ(nfc(text), expected);
}

TEST(CharClass, FollowsUnicode16WhateverTheLibraryKnows) {
  EXPECT_EQ(char_class(U'a'), CharClass::letter);
  EXPECT_EQ(char_class(U'\u732B'), CharClass::letter);
  EXPECT_EQ(char_class(U'\U0002EBF0'), CharClass::letter) << "of Unicode 15.1";
  EXPECT_EQ(char_class(U'\U00016D40'), CharClass::letter) << "of Unicode 16";
  EXPECT_EQ(char_class(U'\U000323B0'), CharClass::other) << "of Unicode 17";
  EXPECT_EQ(char_class(U'\u00BD'), CharClass::number);
  EXPECT_EQ(char_class(U'\u3000'), CharClass::space);
  EXPECT_EQ(char_class(U'\u200B'), CharClass::other) << "a zero-width space is none";
  EXPECT_EQ(char_class(U'\u180E'), CharClass::other) << "nor is this one any more";
  EXPECT_EQ(char_class(U'\U0001F600'), CharClass::other);
}

TEST(Lower, IsFullButWithoutContext) {
  auto lower = [](std::u32string_view text) {
    std::u32string result;
    for (char32_t c : text) append_lower(result, c);
    return result;
  };
  EXPECT_EQ(lower(U"\u0130STANBUL"), U"i\u0307stanbul");
  EXPECT_EQ(lower(U"\u039F\u0394\u039F\u03A3"), U"\u03BF\u03B4\u03BF\u03C3") << "no final sigma";
  EXPECT_EQ(lower(U"\u1E9E\u01C5"), U"\u00DF\u01C6");
  EXPECT_EQ(lower(U"\U00010D65\U00016EA0"), U"\U00010D85\U00016EBB") << "of Unicode 16 and 17";
}

}  // namespace
}  // namespace omnirt::text
