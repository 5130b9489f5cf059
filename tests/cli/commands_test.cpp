#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Generate, PrintsOneAbsolutePathAnImageAndNothingElse) {
  Scratch scratch;
  Ended ended = run_program({"generate", "--prompt", "a red apple", "--steps", "2", "--seed", "1",
                             "-n", "2", "-o", scratch.file("out.png")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, scratch.file("out_0.png") + "\n" + scratch.file("out_1.png") + "\n");
  EXPECT_THAT(scratch.names(), ::testing::ElementsAre("out_0.png", "out_1.png"));
  EXPECT_THAT(ended.err, HasSubstr("step 2/2"));
}

TEST(Generate, PrintsTheWholeReportAsJson) {
  Scratch scratch;
  Ended ended =
      run_program({"generate", "--prompt", "a red apple", "--steps", "2", "--json", "--report",
                   scratch.file("report.json"), "-o", scratch.file("out.webp")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json report = parse_json(ended.out, "stdout");
  EXPECT_EQ(report["schema_version"], "1.0");
  EXPECT_EQ(report["artifacts"][0]["mime"], "image/webp");
  EXPECT_EQ(report["config_resolved"]["num_inference_steps"]["origin"], "user");
  EXPECT_TRUE(fs::exists(scratch.file("report.json")));
}

TEST(Generate, SharesFeaturesBetweenStepsWhenAsked) {
  Scratch scratch;
  Ended ended = run_program({"generate", "-m", "emoji-sd", "--prompt", "a red apple", "--steps",
                             "4", "--cache", "deep", "--cache-interval", "3", "--cache-branch", "1",
                             "--json", "-o", scratch.file("out.png")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json report = parse_json(ended.out, "stdout");
  EXPECT_EQ(report["step_cache"], Json({{"kind", "deep"},
                                        {"interval", 3},
                                        {"branch", 1},
                                        {"order", 0},
                                        {"threshold", 0.0},
                                        {"full_steps", 2},
                                        {"cached_steps", 2}}));
  EXPECT_EQ(report["denoise_steps_ms"].size(), 4u);
  EXPECT_GT(report["first_step_ms"].get<double>(), 0);
}

TEST(Generate, FlagsStandOverTheRequestFile) {
  Scratch scratch;
  std::string file = scratch.write("request.yaml",
                                   "model: emoji-sd\ninputs:\n  prompt: a castle\nconfig:\n  "
                                   "num_inference_steps: 9\n  seed: 4\n");
  Ended ended = run_program({"validate", "-f", file, "--steps", "3", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json settled = parse_json(ended.out, "stdout");
  EXPECT_EQ(settled["config"]["num_inference_steps"]["value"], 3);
  EXPECT_EQ(settled["config"]["seed"]["value"], 4);
  EXPECT_EQ(settled["config"]["guidance_scale"]["origin"], "model");
}

TEST(Generate, MergesDefaultsModelPresetAndUserInThisOrder) {
  Ended ended = run_program({"validate", "-m", "emoji-sd", "--prompt", "x", "--preset", "fast",
                             "--guidance-scale", "3", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json config = parse_json(ended.out, "stdout")["config"];
  EXPECT_EQ(config["num_inference_steps"]["origin"], "preset");
  EXPECT_EQ(config["guidance_scale"]["origin"], "user");
  EXPECT_EQ(config["eta"]["origin"], "default");
  EXPECT_EQ(config["width"], Json({{"value", 128}, {"origin", "model"}}));
}

TEST(Generate, ADryRunChecksAndWritesNothing) {
  Scratch scratch;
  Ended ended = run_program(
      {"generate", "--prompt", "x", "--dry-run", "--json", "-o", scratch.file("out.png")});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(parse_json(ended.out, "stdout")["ok"]);
  EXPECT_TRUE(scratch.names().empty());
}

TEST(Generate, ADryRunPrintsWhatValidatePrints) {
  const std::vector<std::string> request{"--prompt", "x",    "--seed",           "1",
                                         "--cache",  "none", "--cache-interval", "5"};
  for (const char* how : {"", "--json"}) {
    std::vector<std::string> dry{"generate", "--dry-run"}, check{"validate"};
    for (auto* words : {&dry, &check}) {
      words->insert(words->end(), request.begin(), request.end());
      if (*how) words->emplace_back(how);
    }
    Ended of_dry = run_program(dry), of_check = run_program(check);
    EXPECT_EQ(of_dry.out, of_check.out) << how;
    EXPECT_EQ(of_dry.err, of_check.err) << how;
    EXPECT_THAT(of_check.err, HasSubstr("warning: --cache-interval"));
  }
}

TEST(Generate, WarnsOfTheEndOfAPromptThatIsCut) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "apple ";
  Ended ended = run_program({"validate", "--prompt", words + "zebra"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("warning: --prompt (inputs.prompt)"));
  EXPECT_THAT(ended.err, HasSubstr("32 tokens"));
}

TEST(Generate, ControlCEndsWithinAStepAndLeavesNoFile) {
  Scratch scratch;
  Ended ended =
      run_program({"generate", "--prompt", "x", "--steps", "1000", "-o", scratch.file("out.png")},
                  "", "step 2/");
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_TRUE(scratch.names().empty());
}

TEST(Generate, WritesEveryFormatReadable) {
  Scratch scratch;
  for (const char* name : {"a.png", "a.jpg", "a.webp"}) {
    Ended ended =
        run_program({"generate", "--prompt", "x", "--steps", "1", "-o", scratch.file(name)});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(io::read_image(scratch.file(name)).width, 128) << name;
    EXPECT_TRUE(io::read_image_metadata(scratch.file(name)).contains("omnirt")) << name;
  }
}

// A variable of the program's environment while this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// The program's cpu-stub follows `script` while this lives.
struct StubScriptGuard : Variable {
  explicit StubScriptGuard(const char* script) : Variable("OMNIRT_STUB", script) {}
};

// With other programs running, threads that wait awake take the time of the one that they wait for.
TEST(Program, LetsThreadsSleepSoonUnlessTheUserSaysOtherwise) {
  Variable display("OMP_DISPLAY_ENV", "VERBOSE");
  EXPECT_THAT(run_program({"--version"}).err, HasSubstr("GOMP_SPINCOUNT = '1000'"));
  {
    Variable own("GOMP_SPINCOUNT", "7");
    EXPECT_THAT(run_program({"--version"}).err, HasSubstr("GOMP_SPINCOUNT = '7'"));
  }
  Variable policy("OMP_WAIT_POLICY", "active");
  EXPECT_THAT(run_program({"--version"}).err,
              AllOf(HasSubstr("OMP_WAIT_POLICY = 'ACTIVE'"), Not(HasSubstr("'1000'"))));
}

TEST(Generate, ALevelThatIsRequiredAndRefusedEndsTheRunWithThree) {
  StubScriptGuard guard(R"({"refuse": {"compile": "no compiler here"}})");
  Scratch scratch;
  std::vector<std::string> words{"generate", "--backend", "cpu-stub",
                                 "--prompt", "x",         "--steps",
                                 "1",        "-o",        scratch.file("out.png")};
  EXPECT_EQ(run_program(words).exit_code, 0);
  words.insert(words.end(), {"--require", "compile"});
  Ended required = run_program(words);
  EXPECT_EQ(required.exit_code, 3);
  EXPECT_THAT(required.err, HasSubstr("no compiler here"));
  words.push_back("--dry-run");
  EXPECT_EQ(run_program(words).exit_code, 2);
}

TEST(Generate, TellsInTheReportWhatFellBack) {
  StubScriptGuard guard(
      R"({"fail": [{"component": "unet", "call": 2, "message": "graph broke"}]})");
  Scratch scratch;
  Ended ended = run_program({"generate", "-m", "emoji-sd", "--backend", "cpu-stub", "--prompt", "x",
                             "--steps", "3", "--json", "-o", scratch.file("out.png")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json report = parse_json(ended.out, "stdout");
  EXPECT_EQ(report["fallbacks"], parse_json(R"([{"component": "unet", "level": "compile",
                                                 "kind": "call", "count": 1, "total": 1}])",
                                            "expected"));
  EXPECT_THAT(report["backend_timeline"].dump(), HasSubstr("graph broke"));
}

TEST(Generate, RefusesALevelThatIsNone) {
  Ended ended = run_program({"validate", "--prompt", "x", "--level", "fast"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("config.level"));
}

TEST(Backends, ListsEachWithItsReasonAndMarksTheOneThatAutoTakes) {
  Ended text = run_program({"backends"});
  EXPECT_EQ(text.exit_code, 0);
  for (const char* name : {"cuda", "ascend", "cpu", "cpu-stub", "taken by auto"})
    EXPECT_THAT(text.out, HasSubstr(name));
  int automatic = 0;
  for (const Json& backend : parse_json(run_program({"backends", "--json"}).out, "stdout")) {
    EXPECT_FALSE(backend["reason"].get<std::string>().empty());
    automatic += backend["automatic"].get<bool>();
  }
  EXPECT_EQ(automatic, 1);
}

TEST(Backends, TellWhichTargetTheCpusKernelsRunBy) {
  EXPECT_THAT(run_program({"backends"}).out, HasSubstr("; this machine has baseline"));
  Variable target("OMNIRT_CPU_TARGET", "baseline");
  EXPECT_THAT(run_program({"backends"}).out,
              HasSubstr("kernels run by baseline, as OMNIRT_CPU_TARGET says"));
  Scratch scratch;
  Ended ended = run_program(
      {"generate", "--prompt", "x", "--steps", "1", "--json", "-o", scratch.file("out.png")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json report = parse_json(ended.out, "stdout");
  EXPECT_THAT(report["backend_timeline"].dump(), HasSubstr("baseline kernels on"));
}

TEST(Backends, AnUnknownTargetIsRefusedWithThoseThatThereAre) {
  Variable target("OMNIRT_CPU_TARGET", "avx7");
  for (const char* backend : {"auto", "cpu"}) {
    Ended ended = run_program({"generate", "--prompt", "x", "--backend", backend});
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("OMNIRT_CPU_TARGET avx7: "));
    EXPECT_THAT(ended.err, HasSubstr("this machine has baseline"));
  }
  Ended listed = run_program({"backends"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("no such target"));
}

TEST(Backends, ListTheirDevicesAndTheirOverrides) {
  StubScriptGuard guard(
      R"({"devices": [{"bytes": 4294967296}, {"bytes": 1073741824}],
          "overrides": [{"tag": "Flux2Transformer2DModel", "name": "of flux"}]})");
  const Ended text = run_program({"backends"});
  EXPECT_THAT(text.out, HasSubstr("cpu:0: "));
  EXPECT_THAT(text.out, HasSubstr("cpu-stub:0: 4.0 GiB free"));
  EXPECT_THAT(text.out, HasSubstr("cpu-stub:1: 1.0 GiB free"));
  EXPECT_THAT(text.out, HasSubstr("kernel overrides: stub, of flux"));
  for (const Json& backend : parse_json(run_program({"backends", "--json"}).out, "stdout")) {
    if (backend["name"] != "cpu-stub") continue;
    ASSERT_EQ(backend["devices"].size(), 2u);
    EXPECT_EQ(backend["devices"][1]["device"], "cpu-stub:1");
    EXPECT_EQ(backend["devices"][1]["available_memory_gb"], 1.0);
    EXPECT_EQ(backend["overrides"], Json::array({"stub", "of flux"}));
  }
}

TEST(Backends, ADeviceAndAMapOfDevicesAreFlags) {
  StubScriptGuard guard(R"({"devices": [{"bytes": 4294967296}, {"bytes": 4294967296}]})");
  Scratch scratch;
  const Ended made =
      run_program({"generate", "--prompt", "x", "--steps", "1", "--backend", "cpu-stub:1",
                   "--device-map", "vae=cpu-stub:0", "--json", "-o", scratch.file("out.png")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json report = parse_json(made.out, "stdout");
  EXPECT_EQ(report["device"], "cpu-stub:1");
  EXPECT_EQ(report["memory"]["devices"].size(), 2u);
  EXPECT_GT(report["memory"]["available_memory_gb"].get<double>(), 3.9);
  const Ended refused = run_program({"validate", "--prompt", "x", "--backend", "cpu-stub:2"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("backend cpu-stub has 2"));
  EXPECT_THAT(refused.err, HasSubstr("give cpu-stub:0 or cpu-stub:1"));
}

TEST(Backends, AScriptThatCannotBeReadMakesTheStubUnavailable) {
  StubScriptGuard guard(R"({"refuse": {"quick": "?"}})");
  Ended ended = run_program({"validate", "--backend", "cpu-stub", "--prompt", "x"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("OMNIRT_STUB"));
}

TEST(Models, ListsEntriesAliasesAndWorkflows) {
  Ended text = run_program({"models"});
  EXPECT_EQ(text.exit_code, 0);
  for (const char* name : {"emoji", "emoji-sd", "sd15", "sd21", "aliases"})
    EXPECT_THAT(text.out, HasSubstr(name));
  Ended one = run_program({"models", "emoji-sd", "--workflows"});
  for (const char* name : {"encode_prompt", "denoise", "prepare_mask", "when"})
    EXPECT_THAT(one.out, HasSubstr(name));
  EXPECT_TRUE(parse_json(run_program({"models", "--format", "json"}).out, "stdout").is_array());
  EXPECT_EQ(run_program({"models", "emogi"}).exit_code, 2);
}

TEST(Models, TellWhatASmallOneWasMadeToDraw) {
  Ended text = run_program({"models", "emoji"});
  EXPECT_THAT(text.out, HasSubstr("draws 169 things: red apple, green apple"));
  Json things = parse_json(run_program({"models", "emoji", "--json"}).out, "stdout")["things"];
  EXPECT_EQ(things.size(), 169u);
  EXPECT_EQ(things[0], "red apple");
  EXPECT_THAT(run_program({"models", "sd15"}).out, ::testing::Not(HasSubstr("draws")));
}

TEST(Models, ATaskThatOneWasNotTrainedForIsRefusedByName) {
  Scratch scratch;
  io::write_image(scratch.file("in.png"), io::Image::zeros(128, 128, 3));
  Ended ended = run_program({"validate", "-p", "a red apple", "-i", scratch.file("in.png")});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("'emoji' was not trained for this task"));
  EXPECT_THAT(ended.err, HasSubstr("text2image, inpaint"));
}

TEST(Models, TheEmbeddedOneIsTheDefault) {
  Ended ended = run_program({"validate", "-p", "a red apple", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json settled = parse_json(ended.out, "stdout");
  EXPECT_EQ(settled["model"], "emoji");
  EXPECT_EQ(settled["warnings"], Json::array());
  EXPECT_EQ(settled["config"]["num_inference_steps"], Json({{"value", 8}, {"origin", "model"}}));
  EXPECT_EQ(settled["config"]["width"], Json({{"value", 128}, {"origin", "model"}}));
}

TEST(Models, TheEmbeddedOneIsToldByItsFolder) {
  Ended ended = run_program(
      {"validate", "-m", source_path("models/emoji").string(), "-p", "a red apple", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(parse_json(ended.out, "stdout")["config"]["width"]["value"], 128);
}

TEST(Generate, ShowsTheEmbeddedModelsLatentsOnTheWay) {
  Scratch scratch;
  Ended ended =
      run_program({"generate", "-p", "a red apple on a blue background", "--seed", "1", "--steps",
                   "4", "--preview-every", "4", "--preview-dir", scratch.path().string(),
                   "--preview-name", "shown.png", "-o", scratch.file("out.png")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  // A corner of the background, by the colours of the latents alone.
  io::Image shown = io::read_image(scratch.file("shown.png"));
  EXPECT_GT(shown.row(0)[2], shown.row(0)[0] + 64);
}

TEST(Inspect, TellsClassTypesAndParameters) {
  std::string model = source_path("models/emoji-sd").string();
  Ended folder = run_program({"inspect", model});
  EXPECT_EQ(folder.exit_code, 0) << folder.err;
  for (const char* name : {"StableDiffusionPipeline", "UNet2DConditionModel", "fp16"}) {
    EXPECT_THAT(folder.out, HasSubstr(name));
  }
  Ended file = run_program({"inspect", model + "/vae/diffusion_pytorch_model.safetensors"});
  EXPECT_THAT(file.out, HasSubstr("decoder.layers.0.bias"));
  EXPECT_EQ(run_program({"inspect", "/etc/hostname"}).exit_code, 2);
}

TEST(Documents, CompletionsAndTheManualPageNameEveryConfigFlag) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"completions", "bash"}, {"completions", "fish"}, {"man"}}) {
    Ended ended = run_program(command);
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.out, HasSubstr("strength"));
  }
}

}  // namespace
}  // namespace omnirt::testing
