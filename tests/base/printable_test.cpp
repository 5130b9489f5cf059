#include "base/printable.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

TEST(Printable, KeepsTextOfAllScripts) {
  for (const char* text : {"plain", "naïve", "蘋果", "яблоко", "🍎", "תפוח"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

TEST(Printable, ReplacesWhatATerminalObeys) {
  EXPECT_EQ(printable("\x1b[31m\x07\x7f"), "?[31m??");
  EXPECT_EQ(printable("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "???\xc2\xa0");
  EXPECT_EQ(printable("\xd8\x9c\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9"), "?????");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "31m \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xc3"),
            "?31m ?? ??? ???? ?");
}

TEST(Printable, KeepsLinesOnlyWhereTheyAreItsOwn) {
  EXPECT_EQ(printable("a\nerror: b\tc\r"), "a error: b c?");
  EXPECT_EQ(printable_lines("a\n\tb\r"), "a\n\tb?");
}

TEST(Printable, EscapesInJsonWhatJsonLeaves) {
  EXPECT_EQ(printable_json("{\n  \"\x7f\xc2\x9b\xe2\x80\xae\": 1\n}"),
            "{\n  \"\\u007f\\u009b\\u202e\": 1\n}");
}

TEST(Finding, ShowsEveryPartPrintable) {
  Finding finding{
      "\x1b"
      "a",
      "\x1b"
      "b",
      "\x1b"
      "c\nd",
      "\x1b"
      "e"};
  EXPECT_EQ(finding.text(), "?a = ?b: ?c d; ?e");
  EXPECT_STREQ(InvalidRequest(finding).what(), "?a = ?b: ?c d; ?e");
}

TEST(Finding, OfAFileHasAWayOut) {
  const InvalidFile bare({"a.json", "", "not valid JSON", ""});
  EXPECT_STREQ(bare.what(),
               "a.json: not valid JSON; download or copy the file again, or give another");
  EXPECT_NE(bare.findings().front().way_out, "");
  EXPECT_STREQ(InvalidFile({"a.json", "", "too long", "shorten it"}).what(),
               "a.json: too long; shorten it");
  EXPECT_STREQ(InvalidRequest(Finding{"f", "", "m", ""}).what(), "f: m");
}

TEST(Finding, CutsALongValueBetweenCharacters) {
  std::string value(119, 'x');
  EXPECT_EQ((Finding{"f", value + "é" + value, "m", ""}.text()), "f = " + value + "...: m");
}

TEST(FindingText, KeepsTheLinesOfAListInItsWayOutAndNoOthers) {
  EXPECT_EQ((Finding{"f", "v", "m", "one of:\n  a\n  b\nerror: c"}.text()),
            "f = v: m; one of:\n  a\n  b error: c");
}

}  // namespace
}  // namespace omnirt
