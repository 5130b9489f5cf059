// Findings about what runs, and is mostly not what was meant; and about what is not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What is printed about a request that can run.
std::string warnings(const std::vector<std::string>& more, const std::string& model = "emoji-sd") {
  std::vector<std::string> words{"validate", "-m", model, "-p", "a red apple"};
  words.insert(words.end(), more.begin(), more.end());
  Ended ended = run_program(words);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return ended.err;
}

TEST(Effect, OfAKeyThatNeedsAnotherIsToldWithIt) {
  EXPECT_EQ(warnings({"--circular-padding"}),
            "warning: --circular-padding (config.circular_padding) = true: has no effect without "
            "window_size; add --window-size, or remove it\n");
  EXPECT_THAT(warnings({"--hires-steps", "4"}),
              HasSubstr("without hires_scale or hires_width or hires_height; add --hires-scale or "
                        "--hires-width or --hires-height, or remove it"));
  EXPECT_THAT(warnings({"--strength", "0.5"}),
              HasSubstr("has no effect without image; add --image, or remove it"));
  EXPECT_THAT(warnings({"--mask-blur", "4"}),
              HasSubstr("has no effect without image and mask; add --image and --mask, or remove"));
  EXPECT_THAT(warnings({"--denoising-end", "0.5"}),
              HasSubstr("unknown config key, ignored; it is a key of sdxl models, and emoji-sd is "
                        "none"));
  EXPECT_THAT(warnings({"--set", "nonsense=1"}),
              HasSubstr("`omnirt models emoji-sd` lists those that it takes"));
  EXPECT_THAT(warnings({"--control-guidance-end", "0.5"}),
              HasSubstr("has no effect without controlnet; add --controlnet, or remove it"));
  EXPECT_THAT(warnings({"--upscale", "2"}),
              HasSubstr("has no effect without upscaler; add --upscaler, or remove it"));
}

TEST(Size, FarFromTheTrainedOneIsAWarning) {
  const std::string told = "far from 128x128, at which the model was trained";
  for (const std::string model : {"emoji-sd", "emoji"}) {
    SCOPED_TRACE(model);
    EXPECT_THAT(warnings({"-W", "256", "-H", "256"}, model),
                AllOf(HasSubstr("--width (config.width) = 256x256: " + told),
                      HasSubstr("make it at about 128x128, and larger by --hires-scale")));
    EXPECT_THAT(warnings({"-H", "288"}, model), HasSubstr("--height (config.height)"));
    EXPECT_THAT(warnings({"-W", "64", "-H", "64"}, model),
                AllOf(HasSubstr(told), HasSubstr("and smaller afterwards")));
    EXPECT_THAT(warnings({"-W", "192", "-H", "96"}, model), IsEmpty());
    EXPECT_THAT(warnings({"-W", "256"}, model), IsEmpty());
  }
}

TEST(Size, ThatAKeyIsMeantForIsNone) {
  EXPECT_THAT(warnings({"-W", "1024", "-H", "128", "--window-size", "128"}), IsEmpty());
  EXPECT_THAT(warnings({"-W", "64", "-H", "64", "--hires-scale", "2"}), IsEmpty());
}

TEST(Replaced, AFileOfThisNameIsAWarningAtAnyStrictness) {
  Scratch scratch;
  const std::string file = scratch.write("x.png", "old");
  const std::string told = "warning: --output (config.output) = " + file +
                           ": replaces an existing file; leave it out, or put {run} into the "
                           "name, and every run makes a new one\n";
  EXPECT_EQ(warnings({"-o", file}), told);
  EXPECT_EQ(warnings({"-o", file, "--strict"}), told);
  EXPECT_EQ(warnings({"-o", scratch.file("x"), "--output-format", "png"}), told);
  EXPECT_EQ(warnings({"-o", file, "--stop-after", "denoise", "--state", scratch.file("s")}), "");
}

TEST(Replaced, NamesThatAreCountedOrFilledInAreNot) {
  Scratch scratch;
  for (const char* name : {"x_0.png", "7.png"}) scratch.write(name, "old");
  EXPECT_EQ(warnings({"-n", "2", "-o", scratch.file("x.png")}), "");
  EXPECT_EQ(warnings({"--seed", "7", "-o", scratch.file("{seed}.png")}), "");
  EXPECT_EQ(warnings({"-o", scratch.file("new.png")}), "");
}

TEST(Urls, AreAnsweredWithWhatToDo) {
  for (const std::string url : {"https://example.org/in.png", "data:image/png;base64,iVBO"}) {
    Ended image = run_program({"validate", "-m", "emoji-sd", "-p", "a red apple", "-i", url});
    EXPECT_EQ(image.exit_code, 2);
    EXPECT_EQ(image.err, "error: --image (inputs.image) = " + url +
                             ": a URL, and nothing is read from the network; download it first, "
                             "and give the file\n");
  }
  const std::string hub = "https://huggingface.co/owner/name/resolve/main/x.safetensors";
  const std::string way =
      "download it first (omnirt pull owner/name), and give the file, or "
      "owner/name for a model";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-m", hub},
                                                {"--lora", hub},
                                                {"--vae", hub},
                                                {"-f", hub},
                                                {"--upscaler", hub},
                                                {"--model-path", hub}}) {
    std::vector<std::string> all{"validate", "-p", "a red apple"};
    all.insert(all.end(), words.begin(), words.end());
    Ended ended = run_program(all);
    EXPECT_EQ(ended.exit_code, 2) << words[0];
    EXPECT_THAT(ended.err, AllOf(HasSubstr("a URL"), HasSubstr(way))) << words[0];
  }
  EXPECT_THAT(run_program({"preprocess", "canny", hub, "-o", "x.png"}).err, HasSubstr("a URL"));
}

TEST(Adapters, OfARequestMayBeAPathWithAScale) {
  Scratch scratch;
  const std::string request = R"({"inputs": {"prompt": "a red apple"}, "adapters": )";
  Ended named = run_program({"validate", "-f", "-"}, request + R"(["nowhere.safetensors:0.5"]})");
  EXPECT_THAT(named.err, HasSubstr("adapters[0].path = nowhere.safetensors: there is no such"));
  Ended number = run_program({"validate", "-f", "-"}, request + "[3]}");
  EXPECT_THAT(number.err, HasSubstr("a path or an object is expected; give "
                                    "\"style.safetensors:0.8\", or {\"path\": ..."));
  Ended alone = run_program({"validate", "-f", "-"}, request + R"("x.safetensors"})");
  EXPECT_THAT(alone.err, HasSubstr("a list is expected; put it in brackets: [style.safetensors]"));
}

TEST(Adapters, OfAPromptOutsideOfTheConfinesAreToldOnce) {
  Scratch scratch;
  Ended ended =
      run_program({"validate", "-m", "emoji-sd", "--confine", scratch.path().string(),
                   "--prompt-syntax", "a1111", "-p", "a red apple <lora:/etc/hostname:0.5>"});
  EXPECT_EQ(ended.exit_code, 2);
  const std::string outside = "/etc/hostname lies outside of";
  ASSERT_THAT(ended.err, HasSubstr(outside));
  EXPECT_EQ(ended.err.find(outside), ended.err.rfind(outside));
}

TEST(Things, AreLookedForInTheWordsOfAPromptAsItsSyntaxReadsIt) {
  for (const char* prompt : {"(red:1.3) apple", "[[red]] (apple)", "(red BREAK apple)"}) {
    Ended weights =
        run_program({"validate", "-m", "emoji-sd", "-p", prompt, "--prompt-syntax", "a1111"});
    EXPECT_EQ(weights.exit_code, 0) << weights.err;
    EXPECT_THAT(weights.err, Not(HasSubstr("names none"))) << prompt;
  }
  Ended weights = run_program(
      {"validate", "-m", "emoji-sd", "-p", "(red:1.3) aple", "--prompt-syntax", "a1111"});
  EXPECT_THAT(weights.err, AllOf(HasSubstr("names none"), HasSubstr("nearest: red apple")));
}

}  // namespace
}  // namespace omnirt::testing
