// Plug-ins, as the program loads them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"
#include "io/safetensors_writer.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string plugin(const std::string& name) {
  return OMNIRT_PLUGINS_BUILT "/lib" + name + ".so";
}

std::string text_of(const std::string& path) {
  std::ifstream file(source_path(path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double mean_of(const io::Image& image, size_t channel) {
  double sum = 0;
  for (size_t i = channel; i < image.pixels.size(); i += 3) sum += image.pixels[i];
  return sum / static_cast<double>(image.width * image.height);
}

std::string flat_picture(const Scratch& scratch, std::array<uint8_t, 3> colour) {
  io::Image image = io::Image::zeros(32, 32, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(colour[i % 3] + (i / 3 % 2 == 0 ? 8 : -8));
  io::write_image(scratch.file("reference.png"), image);
  return scratch.file("reference.png");
}

TEST(Plugins, ThoseOfTheDocumentationAreTheOnesThatAreTested) {
  for (const char* name : {"match_colours", "adams_bashforth", "fading_guidance"}) {
    EXPECT_THAT(text_of("docs/blocks.md"),
                HasSubstr("```cpp\n" + text_of(fmt::format("tests/plugins/{}.cpp", name)) + "```"));
  }
}

TEST(Plugins, ABlockTakesPartWhenItsInputIsGiven) {
  Scratch scratch;
  std::vector<std::string> words{"generate",
                                 "--plugin",
                                 plugin("match_colours"),
                                 "--prompt",
                                 "a red apple",
                                 "--steps",
                                 "2",
                                 "--seed",
                                 "1",
                                 "--json",
                                 "--input",
                                 "colour_reference=" + flat_picture(scratch, {40, 90, 200}),
                                 "-o",
                                 scratch.file("out.png")};
  Ended ended = run_program(words);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  Json report = parse_json(ended.out, "stdout");
  EXPECT_THAT(report["workflow"].get<std::string>(), HasSubstr("decode_latents > match_colours"));
  EXPECT_EQ(report["config_resolved"]["colour_match"]["origin"], "default");
  io::Image made = io::read_image(scratch.file("out.png"));
  EXPECT_NEAR(mean_of(made, 0), 40, 2);
  EXPECT_NEAR(mean_of(made, 1), 90, 2);
  EXPECT_NEAR(mean_of(made, 2), 200, 2);
  // Its key is a flag like any other; at 0 the image is the one without it.
  words.insert(words.end(), {"--colour-match", "0", "-o", scratch.file("same.png")});
  words.erase(words.end() - 6, words.end() - 4);
  ASSERT_EQ(run_program(words).exit_code, 0);
  Ended plain = run_program({"generate", "--prompt", "a red apple", "--steps", "2", "--seed", "1",
                             "-o", scratch.file("plain.png")});
  ASSERT_EQ(plain.exit_code, 0);
  EXPECT_EQ(io::read_image(scratch.file("same.png")), io::read_image(scratch.file("plain.png")));
}

TEST(Plugins, WithoutTheBlockItsInputAndKeyAreUnknown) {
  Scratch scratch;
  Ended ended = run_program({"validate", "--prompt", "a", "--input",
                             "colour_reference=" + flat_picture(scratch, {1, 2, 3})});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("colour_reference"));
}

TEST(Plugins, AWholeFamilyIsListedCheckedAndRun) {
  Scratch scratch;
  std::filesystem::create_directories(scratch.path() / "stripes");
  scratch.write("stripes/model_index.json", R"({"_class_name": "StripesPipeline"})");
  setenv("OMNIRT_PLUGINS", plugin("stripes").c_str(), 1);
  Ended listed = run_program({"models"});
  Ended ended = run_program({"generate", "-m", scratch.file("stripes"), "-p", "stripes",
                             "--stripes", "8", "--seed", "0", "-o", scratch.file("out.png")});
  unsetenv("OMNIRT_PLUGINS");
  EXPECT_THAT(listed.out, HasSubstr("black and white stripes"));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  io::Image made = io::read_image(scratch.file("out.png"));
  EXPECT_EQ(made.row(0)[0], 255);
  EXPECT_EQ(made.row(8)[0], 0);
}

TEST(Plugins, BringSchedulersAndGuiders) {
  Ended ended =
      run_program({"validate", "--plugin", plugin("stripes"), "-m", "emoji-sd", "--prompt", "a",
                   "--scheduler", "stripes", "--guider", R"({"type": "stripes"})", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(parse_json(ended.out, "stdout")["config"]["scheduler"]["value"], "StripesScheduler");
}

// An image of two steps, made with `words` and, where named, a plug-in.
io::Image apple(std::vector<std::string> words, const std::string& plugin_name = "") {
  Scratch scratch;
  std::vector<std::string> all{"generate",    "-m",      "emoji-sd", "-p",
                               "a red apple", "--steps", "2",        "--seed",
                               "1",           "-q",      "-o",       scratch.file("out.png")};
  if (!plugin_name.empty()) all.insert(all.begin(), {"--plugin", plugin(plugin_name)});
  all.insert(all.end(), words.begin(), words.end());
  Ended ended = run_program(all);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return io::read_image(scratch.file("out.png"));
}

TEST(Plugins, ASchedulerOfTwoStepsIsLinearMultistepOfThatOrder) {
  // Trailing: the second step still begins in noise, so that the first one's slope is seen.
  auto by = [](const std::string& scheduler, const std::string& plugin_name) {
    return apple({"--scheduler", scheduler, "--scheduler-set", "timestep_spacing=trailing"},
                 plugin_name);
  };
  const io::Image made = by("ab2", "adams_bashforth");
  auto worst_against = [&](const io::Image& other) {
    int worst = 0;
    for (size_t i = 0; i < made.pixels.size(); ++i)
      worst = std::max(worst, std::abs(made.pixels[i] - other.pixels.at(i)));
    return worst;
  };
  // The reference integrates the polynomial by quadrature.
  EXPECT_LE(worst_against(by("lms", "")), 1);
  EXPECT_GT(worst_against(by("euler", "")), 1);
}

TEST(Plugins, AGuiderWhoseGuidanceDoesNotFadeIsClassifierFree) {
  auto fading = [](const std::string& power) {
    return apple({"--guider", "fading", "--guider-set", "guidance_scale=5", "--guider-set",
                  "power=" + power},
                 "fading_guidance");
  };
  const io::Image classifier_free = apple({"--guidance-scale", "5"});
  EXPECT_EQ(fading("0"), classifier_free);
  EXPECT_NE(fading("1"), classifier_free);
}

// A component's folder with a network of one weight.
std::string drift_folder(const Scratch& scratch, float gain) {
  std::filesystem::path folder = scratch.path() / "drift";
  std::filesystem::create_directories(folder);
  scratch.write("drift/config.json", R"({"_class_name": "Drift"})");
  float zero = 0;
  std::vector<io::TensorView> tensors{
      {"gain.weight", io::Dtype::f32, {1, 1}, std::as_bytes(std::span(&gain, 1))},
      {"gain.bias", io::Dtype::f32, {1}, std::as_bytes(std::span(&zero, 1))}};
  io::write_safetensors(folder / "diffusion_pytorch_model.safetensors", tensors);
  return folder.string();
}

TEST(Plugins, ANetworkOfThreeOutputsServesABlockAfterThePrediction) {
  Scratch scratch;
  auto mean_of_latents = [&](const std::string& share) {
    Ended ended =
        run_program({"generate", "--plugin", plugin("drift"), "-m", "emoji-sd", "--component",
                     "drift=" + drift_folder(scratch, 1), "--prompt", "a red apple", "--steps", "2",
                     "--seed", "1", "--centre", share, "--json", "-o", scratch.file("out.png")});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    Json report = parse_json(ended.out, "stdout");
    EXPECT_THAT(report["workflow"].get<std::string>(), HasSubstr("take_back_drift > denoise"));
    return std::abs(report["latent_stats"]["mean"].get<double>());
  };
  EXPECT_GT(mean_of_latents("0"), 1e-3);
  EXPECT_LT(mean_of_latents("1"), 1e-6);
}

TEST(Plugins, ThatDoNotFitAreRefusedByNameWithTheReason) {
  Scratch scratch;
  struct Case {
    std::string file, message;
  };
  for (const Case& each : std::initializer_list<Case>{
           {scratch.file("absent.so"), "no such file"},
           {scratch.write("text.so", "not a library"), "not a plug-in of omnirt"},
           {plugin("other_abi"),
            "made for omnirt 9.9.9 (headers 0123456789abcdef), libtorch 1.2.3"},
           {plugin("clash"), "denoise: the list has a block of this name already"}}) {
    Ended ended = run_program({"models", "--plugin", each.file});
    EXPECT_EQ(ended.exit_code, 2) << each.file;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("plugin"), HasSubstr(each.message))) << each.file;
  }
}

TEST(Plugins, TheSameOneTwiceIsRefused) {
  Ended ended = run_program(
      {"models", "--plugin", plugin("match_colours"), "--plugin=" + plugin("match_colours")});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("already"));
}

}  // namespace
}  // namespace omnirt::testing
