// Where images go, and what they are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Ended make(const std::vector<std::string>& more) {
  std::vector<std::string> words{"generate", "-p", "a red apple", "--steps", "1", "--seed", "7"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

TEST(Names, AFolderIsAnOutputFolder) {
  Scratch scratch;
  Ended made = make({"-o", scratch.file("new") + "/"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr(scratch.file("new/emoji-")));
  Ended there = make({"-o", scratch.file("new")});
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_THAT(there.out, HasSubstr(scratch.file("new/emoji-")));
}

TEST(Names, MissingFoldersAreMade) {
  Scratch scratch;
  Ended made = make({"-o", scratch.file("a/b/x.png")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, scratch.file("a/b/x.png") + "\n");
  EXPECT_TRUE(fs::exists(scratch.file("a/b/x.png")));
}

TEST(Names, HoldSeedIndexAndModel) {
  Scratch scratch;
  Ended made = make({"-n", "2", "-o", scratch.file("{model}_{seed}.png")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(scratch.names(), ElementsAre("emoji_7.png", "emoji_8.png"));
  Ended unknown = make({"-o", scratch.file("{prompt}.png")});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("{prompt} is not known; {index}, {seed}, {model} and {run}"));
}

TEST(Names, OfManyImagesSort) {
  Scratch scratch;
  ASSERT_EQ(make({"-n", "11", "-o", scratch.file("x.png")}).exit_code, 0);
  std::vector<std::string> names = scratch.names();
  ASSERT_EQ(names.size(), 11u);
  EXPECT_EQ(names[1], "x_01.png");
  EXPECT_EQ(names[10], "x_10.png");
}

TEST(Names, NoInputIsWrittenOver) {
  Scratch scratch;
  for (const char* name : {"a.png", "b_1.png"})
    io::write_image(scratch.file(name), io::Image::zeros(128, 128, 3));
  struct Case {
    const char *count, *input, *output;
  };
  for (const Case& each : {Case{"1", "a.png", "a.png"}, Case{"2", "b_1.png", "b.png"},
                           Case{"2", "b_1.png", "b_{index}.png"}}) {
    Ended refused = make({"-m", "emoji-sd", "--strength", "1", "-n", each.count, "-i",
                          scratch.file(each.input), "-o", scratch.file(each.output)});
    EXPECT_EQ(refused.exit_code, 2) << each.output;
    EXPECT_THAT(refused.err, HasSubstr("the request reads this file itself")) << each.output;
  }
}

TEST(Names, ThreadsAreANumber) {
  Scratch scratch;
  EXPECT_EQ(make({"--threads", "1", "-o", scratch.file("x.png")}).exit_code, 0);
  Ended none = make({"-t", "0", "-o", scratch.file("x.png")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err, "error: --threads = 0: out of range; give 1 to 1024\n");
}

// The variable that names folders of models, while this lives.
struct ModelFolders {
  explicit ModelFolders(const fs::path& folder) { setenv("OMNIRT_MODELS", folder.c_str(), 1); }
  ~ModelFolders() { unsetenv("OMNIRT_MODELS"); }
  ModelFolders(const ModelFolders&) = delete;
  ModelFolders& operator=(const ModelFolders&) = delete;
};

TEST(Models, AreListedOnceThoseHereFirstAndWithWhatElseIsHere) {
  Scratch scratch;
  fs::create_directories(scratch.path() / "checkpoints");
  fs::create_directory_symlink(source_path("models/emoji-sd").string(), scratch.path() / "mine");
  scratch.write("checkpoints/bar.safetensors", "");
  ModelFolders folders(scratch.path());
  std::string out = run_program({"models"}).out;
  EXPECT_LT(out.find("emoji"), out.find("not here"));
  EXPECT_EQ(out.find("emoji-sd  "), out.rfind("emoji-sd  ")) << out;
  EXPECT_THAT(out, HasSubstr("also here"));
  EXPECT_THAT(out, HasSubstr("mine                     " + scratch.file("mine")));
  EXPECT_THAT(out,
              HasSubstr("bar                      " + scratch.file("checkpoints/bar.safetensors")));
}

TEST(Models, AFolderAndAFoundNameAreDescribedAsAnIdIs) {
  Scratch scratch;
  fs::create_directory_symlink(source_path("models/emoji-sd").string(), scratch.path() / "mine");
  ModelFolders folders(scratch.path());
  for (const std::string& name : {std::string("mine"), scratch.file("mine")}) {
    Ended ended = run_program({"models", name});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("sd15 text2image"));
    EXPECT_THAT(ended.out, HasSubstr(scratch.file("mine")));
  }
  Ended inspected = run_program({"inspect", "mine"});
  EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("StableDiffusionPipeline"));
}

TEST(Models, AFileIsFoundByItsNameBelowCheckpoints) {
  Scratch scratch;
  ASSERT_EQ(run_program({"convert", source_path("tests/goldens/pipelines/sd15/model").string(),
                         scratch.file("foo.safetensors")})
                .exit_code,
            0);
  fs::create_directories(scratch.path() / "checkpoints");
  fs::rename(scratch.file("foo.safetensors"), scratch.file("checkpoints/foo.safetensors"));
  ModelFolders folders(scratch.path());
  for (const char* name : {"foo", "foo.safetensors", "checkpoints/foo.safetensors"}) {
    Ended ended = run_program({"validate", "-m", name, "-p", "x", "--json"});
    EXPECT_EQ(parse_json(ended.out, "stdout")["model_path"],
              scratch.file("checkpoints/foo.safetensors"))
        << ended.err;
  }
  Ended missing = run_program({"validate", "-m", "nothing/such.safetensors", "-p", "x"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("neither a known model nor a folder or file that is here "
                                     "(looked in " +
                                     scratch.file("nothing/such.safetensors")));
  EXPECT_THAT(run_program({"validate", "-m", "someone/dream", "-p", "x"}).err,
              HasSubstr("omnirt pull someone/dream"));
}

}  // namespace
}  // namespace omnirt::testing
