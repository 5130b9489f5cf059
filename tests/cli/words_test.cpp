// What users of other programs type, and what they are answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Json settled(std::vector<std::string> words) {
  words.insert(words.begin(), {"validate", "-m", "emoji-sd", "-p", "a red apple", "--json"});
  Ended ended = run_program(words);
  return ended.exit_code == 0 ? parse_json(ended.out, "stdout") : Json(ended.err);
}

TEST(Words, AKeyIsAFlagUnderItsOwnNameWithDashesOrUnderscores) {
  for (const char* flag : {"--steps", "--num-inference-steps", "--num_inference_steps"}) {
    Json value = settled({flag, "7"})["config"]["num_inference_steps"];
    EXPECT_EQ(value, Json({{"value", 7}, {"origin", "user"}})) << flag;
  }
  EXPECT_EQ(settled({"--negative_prompt", "grey"})["inputs"]["negative_prompt"], "grey");
}

TEST(Words, OfOtherProgramsThatMeanTheSameAreTaken) {
  Json config = settled({"--cfg-scale", "3", "--sampling-method", "euler", "-W", "64", "-H", "96",
                         "--batch-count", "2", "--neg", "grey"})["config"];
  EXPECT_EQ(config["guidance_scale"]["value"], 3);
  EXPECT_EQ(config["scheduler"]["value"], "EulerDiscreteScheduler");
  EXPECT_EQ(config["width"]["value"], 64);
  EXPECT_EQ(config["height"]["value"], 96);
  EXPECT_EQ(config["num_images_per_prompt"]["value"], 2);
}

TEST(Words, OfASamplerAndItsSigmaScheduleAreOneScheduler) {
  Json config = settled({"--sampler", "dpmpp_2m", "--scheduler", "karras"})["config"];
  EXPECT_EQ(config["scheduler"]["value"], "DPMSolverMultistepScheduler");
  EXPECT_EQ(config["scheduler_config"]["value"]["use_karras_sigmas"], true);
}

struct Answer {
  std::vector<std::string> words;
  std::string line;
};

class Answers : public ::testing::TestWithParam<Answer> {};
INSTANTIATE_TEST_SUITE_P(
    Words, Answers,
    ::testing::Values(
        Answer{{"generate", "--batch", "2"},
               "unknown flag --batch: did you mean --num-images? (omnirt generate --help)"},
        Answer{{"generate", "-s", "2"},
               "unknown flag -s: did you mean --seed? steps are --steps; (omnirt generate --help)"},
        Answer{{"generate", "--lowvram"},
               "unknown flag --lowvram: did you mean --preset low-vram? (omnirt generate --help)"},
        Answer{{"generate", "--hires-fix"},
               "unknown flag --hires-fix: did you mean --hires-scale 2? (omnirt generate --help)"},
        Answer{{"generate", "--subseed_strength=0.2"},
               "unknown flag --subseed_strength: there are no variation seeds here; --image with a "
               "small --strength varies an image (omnirt generate --help)"},
        Answer{{"generate", "--tiling"},
               "unknown flag --tiling: did you mean --window-size 512 --circular-padding? (omnirt "
               "generate --help)"},
        Answer{{"generate", "--enable-vae-slicing"},
               "unknown flag --enable-vae-slicing: images are decoded one by one (omnirt generate "
               "--help)"},
        Answer{{"generate", "--slg-scale", "2"},
               "unknown flag --slg-scale: did you mean --guider slg --guider-set slg_scale=2.5? "
               "(omnirt generate --help)"},
        Answer{
            {"generate", "--cuda-device", "1"},
            "unknown flag --cuda-device: did you mean --backend cuda:1? (omnirt generate --help)"},
        Answer{{"generate", "--upscale_repeats", "2"},
               "unknown flag --upscale_repeats: did you mean --upscale? the end size says how "
               "often, --upscale 16; (omnirt generate --help)"},
        Answer{{"generate", "--clip_l", "x"},
               "unknown flag --clip_l: did you mean --component text_encoder=FOLDER? (omnirt "
               "generate --help)"},
        Answer{{"generate", "--cfgg=5"},
               "unknown flag --cfgg: did you mean --guidance-scale? (omnirt generate --help)"},
        Answer{{"preprocess", "canny", "x.png", "-o", "y.png", "--set", "low"},
               "--set = low: name=value is expected; as in --set low=50"},
        Answer{{"generate", "--guider-set", "pag_scale", "-p", "x"},
               "--guider-set = pag_scale: name=value is expected; as in --guider-set "
               "pag_scale=3"},
        Answer{{"models", "--block"},
               "unknown flag --block: did you mean --blocks? (omnirt models --help)"},
        Answer{{"generate", "-p", "a", "red", "apple"},
               "unexpected words: red apple; a prompt is given by --prompt, in quotes: -p \"a red "
               "apple\" (omnirt generate --help)"},
        Answer{{"generat", "-p", "x"},
               "unknown command generat: did you mean generate? (omnirt --help)"},
        Answer{{"txt2img"}, "unknown command txt2img: did you mean generate? (omnirt --help)"},
        Answer{{}, "a command is expected (omnirt --help)"},
        Answer{{"generate"}, "inputs.prompt: missing: what the image shows; add --prompt"},
        Answer{{"validate", "-p", "a red apple", "--steps", "4000", "--json", "--dry-run"},
               "unknown flag --dry-run: there is no such flag (omnirt validate --help)"}));

TEST_P(Answers, NameTheWordAndTheNearest) {
  Ended ended = run_program(GetParam().words);
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.err, "error: " + GetParam().line + "\n");
}

TEST(Words, FindingsNameTheFlagThatWasTyped) {
  Ended ended = run_program({"validate", "-p", "a red apple", "--cfg", "400", "-n", "gray"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err,
              HasSubstr("error: --guidance-scale (config.guidance_scale) = 400: out of range"));
  EXPECT_THAT(ended.err,
              HasSubstr("error: --num-images (config.num_images_per_prompt) = \"gray\""));
}

TEST(Words, FindingsOfAFileNameItsFields) {
  Scratch scratch;
  std::string top = scratch.write("top.yaml", "prompt: a red apple\n");
  EXPECT_THAT(run_program({"validate", "-f", top}).err,
              HasSubstr("prompt = \"a red apple\": unknown request field; did you mean "
                        "inputs.prompt?"));
  std::string keys = scratch.write("keys.yaml",
                                   "inputs: {prompt: a red apple}\nconfig: {steps: 4, cfg_scale: "
                                   "3, sampler: euler, hoight: 8}\n");
  Ended ended = run_program({"validate", "-f", keys});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("error: config.steps = 4: unknown config key; did you mean "
                                   "config.num_inference_steps?"));
  EXPECT_THAT(ended.err, HasSubstr("did you mean config.guidance_scale?"));
  EXPECT_THAT(ended.err, HasSubstr("did you mean config.scheduler?"));
  EXPECT_THAT(ended.err, HasSubstr("warning: config.hoight = 8: unknown config key, ignored; did "
                                   "you mean 'height'?"));
}

TEST(Words, OfAFileThatMeanNothingHereAreToldWhy) {
  Scratch scratch;
  std::string file =
      scratch.write("r.yaml", "inputs: {prompt: a red apple}\nconfig: {restore_faces: true}\n");
  EXPECT_THAT(run_program({"validate", "-f", file}).err,
              HasSubstr("config.restore_faces = true: unknown config key, ignored; faces are not "
                        "restored here"));
}

TEST(Words, AMaskAloneIsToldWhatItNeeds) {
  Scratch scratch;
  io::write_image(scratch.file("m.png"), io::Image::zeros(64, 64, 3));
  Ended ended =
      run_program({"validate", "-m", "emoji-sd", "-p", "x", "--mask", scratch.file("m.png")});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("no task of this model takes just these; add --image"));
}

TEST(Words, ARandomSeedIsDrawnAndShown) {
  Scratch scratch;
  for (const char* seed : {"-1", "random"})
    EXPECT_EQ(settled({"--seed", seed})["config"]["seed"]["origin"], "drawn") << seed;
  std::string file = scratch.write("r.yaml", "inputs: {prompt: a red apple}\nconfig: {seed: -1}\n");
  Ended drawn = run_program({"generate", "-f", file, "--steps", "1", "-o", scratch.file("a.png")});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(drawn.err, HasSubstr("\nseed "));
  Ended several = run_program({"generate", "-p", "a red apple", "--steps", "1", "--seed", "7", "-n",
                               "2", "-o", scratch.file("b.png")});
  EXPECT_THAT(several.err, HasSubstr("\nseeds 7 to 8\n"));
}

}  // namespace
}  // namespace omnirt::testing
