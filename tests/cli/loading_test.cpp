// Which code the program loads: its own libraries from where they belong, plug-ins only where a
// user named them as such.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <regex>
#include <sstream>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string loud = OMNIRT_PLUGINS_BUILT "/libloud.so";
constexpr const char* loud_ran = "the constructor of a library ran";

std::string dynamic_section() {
  std::string text;
  std::array<char, 4096> buffer;
  FILE* pipe = popen("readelf -d '" OMNIRT_PROGRAM "'", "r");
  while (size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
  return pclose(pipe) == 0 ? text : "";
}

std::vector<std::string> entries_of(const std::string& tag) {
  std::vector<std::string> entries;
  const std::string text = dynamic_section();
  const std::regex line("\\(" + tag + "\\)[^\\[]*\\[([^\\]]*)\\]");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it)
    entries.push_back((*it)[1]);
  return entries;
}

TEST(Loading, TheSearchPathOfLibrariesIsAbsoluteAndHasNoEmptyEntry) {
  std::vector<std::string> paths = entries_of("RUNPATH");
  std::vector<std::string> older = entries_of("RPATH");
  paths.insert(paths.end(), older.begin(), older.end());
  ASSERT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    // A separator at the end begins an empty entry, which getline would not return.
    EXPECT_FALSE(path.empty() || path.ends_with(':')) << path;
    std::istringstream list(path);
    for (std::string entry; std::getline(list, entry, ':');) EXPECT_TRUE(entry.starts_with('/'));
    EXPECT_THAT(path, Not(HasSubstr("intel64")));
  }
}

TEST(Loading, LibrariesOfTheWorkingDirectoryAreLeftAlone) {
  Scratch scratch;
  std::vector<std::string> needed = entries_of("NEEDED");
  ASSERT_FALSE(needed.empty());
  for (const std::string& name : needed) fs::copy_file(loud, scratch.path() / name);
  Ended ended = run_program_with({"--help"}, {.folder = scratch.path()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr(loud_ran)));
}

// Command lines in which what reads like the flag is something else.
class NoPluginWords : public ::testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(
    Loading, NoPluginWords,
    ::testing::Values(
        std::vector<std::string>{"validate", "--prompt", "--plugin=" + loud},
        std::vector<std::string>{"validate", "-p", "--plugin=" + loud},
        std::vector<std::string>{"validate", "-p--plugin=" + loud},
        std::vector<std::string>{"validate", "--prompt=--plugin=" + loud},
        std::vector<std::string>{"validate", "--prompt=", "--plugin=" + loud},
        std::vector<std::string>{"validate", "-p", "x", "--negative-prompt", "--plugin=" + loud},
        // of a flag that the first plug-in brings
        std::vector<std::string>{"validate", "--plugin", OMNIRT_PLUGINS_BUILT "/libstripes.so",
                                 "-p", "x", "--stripes", "--plugin=" + loud}));

TEST_P(NoPluginWords, AreTakenAsValues) {
  Ended ended = run_program(GetParam());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr(loud_ran)));
}

// Where it cannot be known before the plug-in is loaded, or does not belong.
class RefusedPluginWords : public ::testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(
    Loading, RefusedPluginWords,
    ::testing::Values(
        std::vector<std::string>{"validate", "-p", "x", "--no-such-flag", "--plugin=" + loud},
        std::vector<std::string>{"validate", "-p", "x", "--no-such", "--prompt", "--plugin", loud},
        std::vector<std::string>{"validate", "-p", "x", "--", "--plugin=" + loud},
        std::vector<std::string>{"validate", "-p", "x", "--", "--plugin", loud},
        std::vector<std::string>{"no-such-command", "--plugin", loud}));

TEST_P(RefusedPluginWords, LoadNothing) {
  Ended ended = run_program(GetParam());
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr(loud_ran)));
  EXPECT_THAT(ended.err, HasSubstr("error"));
}

// Where a user names one.
class PluginWords : public ::testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(
    Loading, PluginWords,
    ::testing::Values(std::vector<std::string>{"--plugin", loud, "validate", "-p", "x"},
                      std::vector<std::string>{"--plugin=" + loud, "validate", "-p", "x"},
                      std::vector<std::string>{"validate", "--plugin", loud, "-p", "x"},
                      std::vector<std::string>{"validate", "-p", "castle", "--strict", "--steps",
                                               "2", "--plugin", loud},
                      std::vector<std::string>{"validate", "-p", "a", "-p", "b", "--json",
                                               "--plugin=" + loud},
                      std::vector<std::string>{"models", "--plugin", loud, "emoji"}));

TEST_P(PluginWords, Load) {
  Ended ended = run_program(GetParam());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(loud_ran));
}

// Where `program`, a copy of the program, finds the embedded model.
std::string found_by(const fs::path& program) {
  fs::create_directories(program.parent_path());
  fs::copy_file(OMNIRT_PROGRAM, program);
  Ended ended = run_program_with({"models", "emoji", "--json"}, {.program = program.string()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return parse_json(ended.out, "stdout")["tasks"][0]["found_at"];
}

void put_model(const fs::path& folder) {
  fs::create_directories(folder);
  fs::copy_file(source_path("models/emoji/model_index.json").string(), folder / "model_index.json");
}

TEST(Loading, ModelsOfFoldersFurtherUpAreNobodys) {
  Scratch shared;
  put_model(shared.path() / "models/emoji");
  put_model(shared.path() / "a/share/omnirt/models/emoji");
  EXPECT_EQ(found_by(shared.path() / "a/b/omnirt"), "");
  EXPECT_EQ(found_by(shared.path() / "a/b/c/d/omnirt"), "");
}

TEST(Loading, ModelsOfThePrefixAndOfTheCheckoutAreThePrograms) {
  Scratch scratch;
  put_model(scratch.path() / "prefix/share/omnirt/models/emoji");
  EXPECT_EQ(found_by(scratch.path() / "prefix/bin/omnirt"),
            scratch.file("prefix/share/omnirt/models/emoji"));
  put_model(scratch.path() / "checkout/models/emoji");
  fs::create_directories(scratch.path() / "checkout/build/release");
  scratch.write("checkout/build/release/CMakeCache.txt", "");
  EXPECT_EQ(found_by(scratch.path() / "checkout/build/release/omnirt"),
            scratch.file("checkout/models/emoji"));
}

TEST(Loading, AFileWithTheNameOfTheFlagIsAFile) {
  Scratch scratch;
  fs::copy_file(loud, scratch.path() / "--plugin=evil.so");
  io::write_image(scratch.file("a.png"), io::Image::zeros(8, 8, 3));
  Ended ended = run_program_with({"sheet", "-o", "s.png", "--", "--plugin=evil.so", "a.png"},
                                 {.folder = scratch.path()});
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr(loud_ran)));
  EXPECT_FALSE(fs::exists(scratch.path() / "s.png"));
}

}  // namespace
}  // namespace omnirt::testing
