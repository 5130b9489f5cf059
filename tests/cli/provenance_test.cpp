// Images embed the request that makes them again: read back, in another folder, to the same
// bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words quick{"--steps", "2", "--seed", "3", "--width", "96", "--height", "96"};

// The working directory while this lives.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

const std::string emoji = source_path("models/emoji-sd").string();

std::string bytes_of(const std::string& file) {
  return io::read_file(file, 1 << 26);
}

void make(const Words& words) {
  Ended ended = run_program(Words{"generate"} + words);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
}

Json request_of(const std::string& file) {
  return parse_json(io::read_image_metadata(file).at("omnirt"), file);
}

void copy_model(const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(emoji, to, fs::copy_options::recursive);
}

// The same tensors with other numbers.
void change_numbers(const fs::path& weights) {
  std::string bytes = io::read_file(weights, size_t{1} << 30);
  for (size_t i = bytes.size() / 2; i < bytes.size(); i += 2) bytes[i] ^= 1;
  io::write_file(weights, bytes);
}

// The same classes and shapes, other weights.
void change_weights(const fs::path& model) {
  change_numbers(model / "unet" / "diffusion_pytorch_model.safetensors");
}

TEST(Provenance, AnImageMakesItselfAgainFromAnotherFolderToTheByteWithoutAWarning) {
  Scratch scratch;
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("start.png")} + quick);
  for (const char* format : {".png", ".jpg", ".webp"}) {
    SCOPED_TRACE(format);
    std::string first = scratch.file(std::string("out") + format);
    {
      // A relative path, of a folder that the second run is not in.
      WorkingFolder here(scratch.path());
      make(Words{"-m", "emoji-sd", "-p", "a pear", "-i", "start.png", "--strength", "0.8", "-o",
                 first} +
           quick);
    }
    WorkingFolder elsewhere(scratch.path() / "elsewhere");
    std::string second = scratch.file(std::string("again") + format);
    Ended again = run_program({"generate", "--strict", "-f", first, "-o", second});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, Not(HasSubstr("warning")));
    EXPECT_EQ(bytes_of(second), bytes_of(first));
    Ended checked = run_program({"validate", "--strict", "-f", first});
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
  }
}

TEST(Provenance, OfAModelInAFolderNamesTheFolder) {
  Scratch scratch;
  copy_model(scratch.path() / "mine");
  {
    WorkingFolder here(scratch.path());
    make(Words{"-m", "mine", "-p", "a red apple", "-o", "out.png"} + quick);
  }
  EXPECT_EQ(request_of(scratch.file("out.png"))["model"], scratch.file("mine"));
  make({"--strict", "-f", scratch.file("out.png"), "-o", scratch.file("again.png")});
  EXPECT_EQ(bytes_of(scratch.file("again.png")), bytes_of(scratch.file("out.png")));
}

TEST(Provenance, OfAModelGivenByModelPathHoldsIt) {
  Scratch scratch;
  copy_model(scratch.path() / "mine");
  make(Words{"-m", "emoji-sd", "--model-path", scratch.file("mine"), "-p", "a red apple", "-o",
             scratch.file("out.png")} +
       quick);
  change_weights(scratch.path() / "mine");
  Ended again =
      run_program({"generate", "-f", scratch.file("out.png"), "-o", scratch.file("again.png")});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("fingerprints.unet"), HasSubstr(scratch.file("mine"))));
}

TEST(Provenance, OfAModelInOneFileTellsAnotherFile) {
  Scratch scratch;
  const std::string folder = source_path("tests/goldens/pipelines/sd15/model").string();
  const std::string one = scratch.file("one.safetensors"), out = scratch.file("out.png");
  ASSERT_EQ(run_program({"convert", folder, one}).exit_code, 0);
  make(Words{"-m", one, "--component", "tokenizer=" + folder + "/tokenizer", "-p", "x", "-o", out} +
       quick);
  for (const char* part : {"unet", "vae", "text_encoder", "tokenizer"})
    EXPECT_TRUE(request_of(out)["fingerprints"].contains(part)) << part;
  make({"--strict", "-f", out, "-o", scratch.file("again.png")});
  EXPECT_EQ(bytes_of(scratch.file("again.png")), bytes_of(out));
  change_numbers(one);
  Ended other = run_program({"generate", "-f", out, "-o", scratch.file("other.png")});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("fingerprints.unet"), HasSubstr(one)));
}

TEST(Provenance, AnotherModelOfTheSameIdInTheCacheIsRefused) {
  Scratch scratch;
  Environment cache("HF_HUB_CACHE", scratch.file("cache"));
  fs::path repository = scratch.path() / "cache" / "models--somebody--dreams";
  auto snapshot = [&](const std::string& commit) {
    copy_model(repository / "snapshots" / commit);
    fs::create_directories(repository / "refs");
    io::write_file(repository / "refs" / "main", commit);
  };
  snapshot("1111");
  make(Words{"-m", "somebody/dreams", "-p", "a red apple", "-o", scratch.file("out.png")} + quick);
  EXPECT_EQ(request_of(scratch.file("out.png"))["model"], "somebody/dreams");
  make({"--strict", "-f", scratch.file("out.png"), "-o", scratch.file("again.png")});
  EXPECT_EQ(bytes_of(scratch.file("again.png")), bytes_of(scratch.file("out.png")));
  fs::remove_all(repository);
  snapshot("2222");
  change_weights(repository / "snapshots" / "2222");
  Ended other =
      run_program({"generate", "-f", scratch.file("out.png"), "-o", scratch.file("other.png")});
  EXPECT_EQ(other.exit_code, 2);
  Json fingerprints = request_of(scratch.file("out.png"))["fingerprints"];
  EXPECT_THAT(other.err,
              AllOf(HasSubstr("fingerprints.unet"), HasSubstr("somebody/dreams"),
                    HasSubstr(fingerprints["unet"].get<std::string>()), HasSubstr("2222")));
  // Who names a model wants that one.
  make({"-f", scratch.file("out.png"), "-m", "somebody/dreams", "-o", scratch.file("other.png")});
  EXPECT_NE(bytes_of(scratch.file("other.png")), bytes_of(scratch.file("out.png")));
}

TEST(Provenance, AnotherStartingImageIsRefused) {
  Scratch scratch;
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("start.png")} + quick);
  make(Words{"-m", "emoji-sd", "-p", "a pear", "-i", scratch.file("start.png"), "-o",
             scratch.file("out.png")} +
       quick);
  make(Words{"-m", "emoji-sd", "-p", "a green apple", "-o", scratch.file("start.png")} + quick);
  Ended again = run_program({"validate", "-f", scratch.file("out.png")});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("fingerprints.inputs.image"));
  Ended said =
      run_program({"validate", "-f", scratch.file("out.png"), "-i", scratch.file("start.png")});
  EXPECT_EQ(said.exit_code, 0) << said.err;
}

TEST(Provenance, HoldsOnlyKeysWithEffect) {
  Scratch scratch;
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "--profile", "--report",
             scratch.file("report.json"), "-o", scratch.file("out.webp"), "--output-format",
             "webp"} +
       quick);
  Json config = request_of(scratch.file("out.webp"))["config"];
  EXPECT_EQ(config["num_inference_steps"], 2);
  for (const char* key : {"cache_interval", "cache_branch", "cache_order", "profile", "output",
                          "output_format", "release_components", "preset", "pack"})
    EXPECT_FALSE(config.contains(key)) << key;
}

TEST(Provenance, OfOneOfSeveralPromptsIsItsOwn) {
  Scratch scratch;
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-p", "a pear", "--negative-prompt", "gray",
             "--negative-prompt", "blue", "-o", scratch.file("out.png")} +
       quick);
  Json inputs = request_of(scratch.file("out_1.png"))["inputs"];
  EXPECT_EQ(inputs, Json({{"negative_prompt", "blue"}, {"prompt", "a pear"}}));
  make({"--strict", "-f", scratch.file("out_1.png"), "-o", scratch.file("again.png")});
  EXPECT_EQ(io::read_image(scratch.file("again.png")).pixels,
            io::read_image(scratch.file("out_1.png")).pixels);
}

TEST(Provenance, WithNamesOrNothingTellsNoFolder) {
  Scratch scratch;
  copy_model(scratch.path() / "mine");
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("start.png")} + quick);
  Words image{
      "-m", scratch.file("mine"),      "-p",          "a pear",
      "-i", scratch.file("start.png"), "--component", "vae=" + scratch.file("mine") + "/vae"};
  make(image + quick + Words{"--metadata", "short", "-o", scratch.file("out.png")});
  std::string text = request_of(scratch.file("out.png")).dump();
  EXPECT_THAT(text, AllOf(Not(HasSubstr(scratch.path().string())), HasSubstr("start.png")));
  make(image + quick + Words{"--metadata", "none", "-o", scratch.file("none.png")});
  EXPECT_FALSE(io::read_image_metadata(scratch.file("none.png")).contains("omnirt"));
  Ended none =
      run_program({"generate", "-f", scratch.file("none.png"), "-o", scratch.file("again.png")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("carries no request"));
}

// Base names are found next to the image.
TEST(Provenance, WithNamesRunsWhereItsFilesLieTogether) {
  Scratch scratch;
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("start.png")} + quick);
  make(Words{"-m", "emoji-sd", "-p", "a pear", "-i", scratch.file("start.png"), "--metadata",
             "short", "-o", scratch.file("out.png")} +
       quick);
  fs::create_directories(scratch.path() / "moved");
  fs::rename(scratch.path() / "start.png", scratch.path() / "moved" / "start.png");
  fs::rename(scratch.path() / "out.png", scratch.path() / "moved" / "out.png");
  make({"--strict", "-f", scratch.file("moved/out.png"), "--metadata", "short", "-o",
        scratch.file("again.png")});
  EXPECT_EQ(bytes_of(scratch.file("again.png")), bytes_of(scratch.file("moved/out.png")));
}

TEST(Provenance, OfASplitRunIsThatOfTheWholeRun) {
  Scratch scratch;
  copy_model(scratch.path() / "mine");
  Words request = Words{"-m", scratch.file("mine"), "-p", "a red apple"} + quick;
  make(request + Words{"-o", scratch.file("whole.png")});
  make(request + Words{"--stop-after", "denoise", "--state", scratch.file("s.safetensors")});
  make({"--resume", scratch.file("s.safetensors"), "-o", scratch.file("parts.png")});
  EXPECT_EQ(bytes_of(scratch.file("parts.png")), bytes_of(scratch.file("whole.png")));
}

TEST(RequestFile, ItsPathsBeginInItsFolderAndThoseOfFlagsHere) {
  Scratch scratch;
  fs::create_directories(scratch.path() / "sub");
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("sub/base.png")} + quick);
  std::string file = scratch.write(
      "sub/request.json",
      R"({"model": "emoji-sd", "inputs": {"prompt": "a pear", "image": "base.png"}, "config": {"output": "out.png",
          "num_inference_steps": 2}})");
  make({"-f", file});
  EXPECT_TRUE(fs::exists(scratch.file("sub/out.png")));
  WorkingFolder here(scratch.path() / "sub");
  make({"-f", "request.json", "-i", "out.png", "-o", "again.png"});
  EXPECT_TRUE(fs::exists(scratch.file("sub/again.png")));
  fs::remove(scratch.file("sub/base.png"));
  Ended absent = run_program({"validate", "-f", file});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.err, HasSubstr(scratch.file("sub/base.png")));
}

TEST(Confine, RefusesEveryPathOutsideOfTheFolder) {
  Scratch scratch;
  fs::create_directories(scratch.path() / "in");
  fs::create_directory_symlink(scratch.path(), scratch.path() / "in" / "link");
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("start.png")} + quick);
  Words confined{"validate", "--confine", scratch.file("in"), "-p", "x"};
  Words inside{"--output-dir", scratch.file("in")};
  EXPECT_EQ(run_program(confined + inside).exit_code, 0);
  for (const Words& words : std::vector<Words>{
           {"-o", scratch.file("out.png")},
           {"-o", scratch.file("in/../out.png")},
           {"-o", scratch.file("in/link/out.png")},
           {"--output-dir", scratch.file("out")},
           {},  // the default folder is in the working directory
           inside + Words{"--preview-every", "1", "--preview-dir", scratch.file("previews")},
           inside + Words{"--stop-after", "denoise", "--state", scratch.file("s")},
           inside + Words{"-i", scratch.file("start.png")},
           inside + Words{"-i", scratch.file("in/link/start.png")},
           inside + Words{"-m", emoji},
           inside + Words{"--model-path", emoji},
           inside + Words{"--component", "vae=" + emoji + "/vae"},
           inside + Words{"--lora", scratch.file("a.safetensors")},
           inside + Words{"--lora", "../a.safetensors"},
           inside + Words{"--preview-every", "1", "--preview-decoder", emoji + "/vae",
                          "--preview-dir", scratch.file("in")}}) {
    Ended ended = run_program(confined + words);
    EXPECT_EQ(ended.exit_code, 2) << ::testing::PrintToString(words);
    EXPECT_THAT(ended.err, HasSubstr("lies outside of")) << ::testing::PrintToString(words);
  }
}

// Each part of a model, whether a folder or a file in one.
TEST(Confine, RefusesLinksInsideOfAModelThatLeadOutside) {
  Scratch scratch;
  const std::string model = scratch.file("in/model");
  fs::create_directories(model);
  for (const fs::directory_entry& each : fs::directory_iterator(emoji))
    fs::create_symlink(each.path(), fs::path(model) / each.path().filename());
  fs::create_directories(scratch.path() / "in" / "vae");
  for (const fs::directory_entry& each : fs::directory_iterator(emoji + "/vae"))
    fs::create_symlink(each.path(), scratch.path() / "in" / "vae" / each.path().filename());
  const Words confined{"validate", "--confine",    scratch.file("in"), "-p",
                       "x",        "--output-dir", scratch.file("in")};
  for (const Words& words : std::vector<Words>{{"-m", model},
                                               {"--model-path", model},
                                               {"--component", "vae=" + scratch.file("in/vae")}}) {
    Ended ended = run_program(confined + words);
    EXPECT_EQ(ended.exit_code, 2) << ::testing::PrintToString(words);
    EXPECT_THAT(ended.err, HasSubstr("a link, lies outside of")) << ended.err;
  }
}

// The same words for a file that exists and for one that does not.
TEST(Confine, DoesNotTellWhatExistsOutside) {
  Scratch scratch;
  fs::create_directories(scratch.path() / "in");
  std::ofstream(scratch.file("aaaa1.safetensors")) << "x";
  fs::create_directory_symlink(scratch.path(), scratch.path() / "in" / "link");
  WorkingFolder here(scratch.path() / "in");
  auto told = [&](const std::string& flag, const std::string& before, const std::string& name) {
    Ended ended = run_program({"validate", "--confine", scratch.file("in"), "-p", "x",
                               "--output-dir", scratch.file("in"), "--hires-scale", "2", flag,
                               before + name + ".safetensors"});
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    return std::regex_replace(ended.err, std::regex(name), "NAME");
  };
  for (const std::string& place : {scratch.file(""), std::string("../"), std::string("link/")}) {
    for (const std::string flag : {"--lora", "--hires-upscaler", "-m"})
      EXPECT_EQ(told(flag, place, "aaaa1"), told(flag, place, "aaaa2")) << flag << " " << place;
  }
}

TEST(Confine, IsTakenFromTheEnvironmentAndMustBeAFolder) {
  Scratch scratch;
  Environment confine("OMNIRT_CONFINE", scratch.path());
  Ended outside = run_program({"validate", "-p", "x", "-o", "/tmp/out.png"});
  EXPECT_EQ(outside.exit_code, 2);
  EXPECT_THAT(outside.err, HasSubstr("lies outside of"));
  Ended absent = run_program({"validate", "-p", "x", "--confine", scratch.file("absent")});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.err, HasSubstr("there is no such folder"));
}

TEST(InspectFile, TellsAnAdapterByWhatItChangesAndHowItIsUsed) {
  std::string file = source_path("tests/goldens/adapters/files/diffusers_old.safetensors").string();
  Ended ended = run_program({"inspect", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("an adapter: lora"), HasSubstr("rank"),
                               HasSubstr("use it with --lora")));
  Ended model = run_program({"validate", "-m", file, "-p", "x"});
  EXPECT_THAT(model.err, HasSubstr("LoRA"));
}

TEST(InspectFile, TellsThisProgramsOwnFiles) {
  Scratch scratch;
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "-o", scratch.file("out.png")} + quick);
  Ended picture = run_program({"inspect", scratch.file("out.png")});
  EXPECT_EQ(picture.exit_code, 0) << picture.err;
  EXPECT_THAT(picture.out, AllOf(HasSubstr("image"), HasSubstr("96x96"),
                                 HasSubstr("\"prompt\": \"a red apple\"")));
  make(Words{"-m", "emoji-sd", "-p", "a red apple", "--stop-after", "denoise", "--state",
             scratch.file("s")} +
       quick);
  Ended state = run_program({"inspect", scratch.file("s")});
  EXPECT_EQ(state.exit_code, 0) << state.err;
  EXPECT_THAT(state.out, AllOf(HasSubstr("state of a run"), HasSubstr("emoji-sd"),
                               HasSubstr("stopped after denoise"), HasSubstr("--resume")));
}

}  // namespace
}  // namespace omnirt::testing
