// What the linker and the compiler left in the program and the library, as readelf shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace omnirt::testing {
namespace {
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string output_of(const std::string& command) {
  std::string text;
  std::array<char, 4096> buffer;
  FILE* pipe = popen(command.c_str(), "r");
  while (size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
  return pclose(pipe) == 0 ? text : "";
}

class Hardening : public ::testing::TestWithParam<const char*> {
 protected:
  std::string read(const std::string& what) const {
    return output_of("readelf -W " + what + " '" + GetParam() + "'");
  }
};
INSTANTIATE_TEST_SUITE_P(Files, Hardening, ::testing::Values(OMNIRT_PROGRAM, OMNIRT_LIBRARY),
                         [](const auto& file) { return file.index == 0 ? "Program" : "Library"; });

TEST_P(Hardening, IsPositionIndependentAndBindsAllSymbolsBeforeItRuns) {
  EXPECT_THAT(read("-h"), ContainsRegex("Type: +DYN"));
  EXPECT_THAT(read("-l"), HasSubstr("GNU_RELRO"));
  EXPECT_THAT(read("-d"), ContainsRegex("BIND_NOW|FLAGS_1.*NOW"));
}

TEST_P(Hardening, NoSegmentIsBothWritableAndExecutable) {
  const std::string segments = read("-l");
  EXPECT_THAT(segments, ContainsRegex("GNU_STACK.* RW "));
  EXPECT_THAT(segments, Not(ContainsRegex("(LOAD|GNU_STACK).* RWE ")));
  EXPECT_THAT(read("-d"), Not(HasSubstr("TEXTREL")));
}

// libtorch exports parts of another libstdc++, some of which crash.
TEST_P(Hardening, LooksForTheStandardLibraryBeforeLibtorch) {
  const std::string needed = read("-d");
  ASSERT_THAT(needed, HasSubstr("[libtorch"));
  EXPECT_LT(needed.find("[libstdc++.so"), needed.find("[libtorch"));
}

// Builds for debugging and with sanitizers have other checks.
#ifdef OMNIRT_HARDENED
TEST_P(Hardening, CallsTheCheckedFunctionsOfTheCompiler) {
  const std::string symbols = read("--dyn-syms");
  EXPECT_THAT(symbols, HasSubstr("__stack_chk_fail"));
  // FORTIFY: at least one of the checked variants of functions that copy or print.
  EXPECT_THAT(symbols, ContainsRegex(
                           "__(memcpy|memset|memmove|read|snprintf|fprintf|printf|vsnprintf)_chk"));
}

#ifdef __x86_64__
// Indirect calls may only reach ENDBR64 where a processor enforces it. The property of the whole
// file needs start files that have it too, which Debian 12 does not ship; so the code is read.
TEST_P(Hardening, FunctionsBeginWhereIndirectCallsMayArrive) {
  const std::string code = output_of(std::string("objdump -d --no-show-raw-insn '") + GetParam() +
                                     "' | head -n 400000 | grep -c endbr64");
  EXPECT_GT(std::atoi(code.c_str()), 500);
}
#endif
#endif

}  // namespace
}  // namespace omnirt::testing
