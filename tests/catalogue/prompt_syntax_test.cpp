// What prompts of other syntaxes than the plain one promise beside their goldens.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> told(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    lines.push_back(finding.field + ": " + finding.value + ": " + finding.message);
  return lines;
}

GenerateRequest prompted(const std::string& golden, const std::string& prompt) {
  GenerateRequest request = golden_request(golden);
  request.inputs["prompt"] = prompt;
  return request;
}

TEST(PromptSyntax, WarnsOfWhatAPlainPromptReadsAsWords) {
  for (const char* golden : {"sd15/text2image", "sdxl/text2image"}) {
    GenerateRequest request = prompted(golden, "a (red:1.2) apple <lora:x:1>");
    request.inputs["negative_prompt"] = "(gray)";
    Proposal proposal = engine().check(request);
    EXPECT_THAT(
        told(proposal.warnings),
        ElementsAre("inputs.prompt: (red:1.2): a plain prompt has no weights: these are words",
                    "inputs.prompt: <lora:x:1>: a plain prompt names no adapters: these are words"))
        << golden;
    EXPECT_EQ(proposal.warnings[0].way_out, "--prompt-syntax a1111 reads them as weights");
    EXPECT_EQ(proposal.warnings[1].way_out, "give the adapter by --lora, or --prompt-syntax a1111");
  }
}

TEST(PromptSyntax, RefusesWhatA1111DoesBeyondThisBeforeAnyWeightIsRead) {
  for (const char* golden : {"sd15/a1111_weights", "sdxl/a1111_weights"}) {
    GenerateRequest request = prompted(golden, "a [cat|dog]");
    request.inputs["negative_prompt"] = "a [cat:dog:0.5]";
    EXPECT_THAT(told(engine().check(request).errors),
                ElementsAre("inputs.prompt: [cat|dog]: alternating words [a|b] are not supported "
                            "by prompt_syntax a1111",
                            "inputs.negative_prompt: [cat:dog:0.5]: scheduled words [a:b:0.5] are "
                            "not supported by prompt_syntax a1111"))
        << golden;
  }
}

TEST(PromptSyntax, ReadsOnePromptForBothTextEncodersOfXl) {
  GenerateRequest request = golden_request("sdxl/a1111_weights");
  request.inputs["prompt_2"] = "the sea";
  EXPECT_THAT(told(engine().check(request).errors),
              ElementsAre("inputs.prompt_2: the sea: prompt_syntax a1111 reads one prompt for both "
                          "text encoders"));
}

TEST(PromptSyntax, IsNoKeyOfModelsWithoutClip) {
  GenerateRequest request = golden_request("pixart_sigma/text2image");
  request.config["prompt_syntax"] = "a1111";
  EXPECT_THAT(told(engine().check(request).warnings),
              Contains("config.prompt_syntax: \"a1111\": unknown config key, ignored"));
}

// Without weights, and within a window, the reading is the plain one but for the scaling by a mean
// of 1 in floats.
TEST(PromptSyntax, MakesOfPlainWordsWhatPlainMakes) {
  GenerateRequest request = golden_request("sd15/text2image");
  Outcome plain = run(request);
  request.config["prompt_syntax"] = "a1111";
  Outcome same = run(request);
  EXPECT_TRUE(same.prompt_embeds.at("cond").equal(plain.prompt_embeds.at("cond")));
  EXPECT_TRUE(same.prompt_embeds.at("uncond").equal(plain.prompt_embeds.at("uncond")));
}

TEST(PromptSyntax, BeginsAWindowAtBreak) {
  Outcome together = run(prompted("sd15/a1111_weights", "a red apple BREAK the sea"));
  Tensor embeds = together.prompt_embeds.at("cond");
  ASSERT_EQ(embeds.size(1), 154);
  EXPECT_EQ(together.prompt_embeds.at("uncond").size(1), 154);
  Outcome first = run(prompted("sd15/a1111_weights", "a red apple"));
  Outcome second = run(prompted("sd15/a1111_weights", "the sea"));
  // Text encoders of several rows add in another order.
  EXPECT_LT(relative_error(embeds.narrow(1, 0, 77), first.prompt_embeds.at("cond")), 2e-5);
  EXPECT_LT(relative_error(embeds.narrow(1, 77, 77), second.prompt_embeds.at("cond")), 2e-5);
}

TEST(PromptSyntax, RefusesMoreThanSixteenWindows) {
  std::string longest;
  for (int i = 0; i < 16 * 75; ++i) longest += "a ";
  GenerateRequest request = prompted("sd15/a1111_weights", longest + "b c");
  try {
    run(request);
    FAIL() << "it ran";
  } catch (const InvalidRequest& thrown) {
    EXPECT_THAT(told(thrown.findings()),
                ElementsAre("inputs.prompt: b c: the prompt is longer than 16 windows of the text "
                            "encoder, 1200 tokens; it ends before this"));
  }
}

// The adapters of `request` as a run has them, by name and scale.
std::vector<std::pair<std::string, double>> adapters_of(const Proposal& proposal) {
  std::vector<std::pair<std::string, double>> all;
  for (const Json& adapter : proposal.request.adapters)
    all.emplace_back(fs::path(adapter["path"].get<std::string>()).filename(), adapter["scale"]);
  return all;
}

TEST(PromptSyntax, TakesAdaptersThatThePromptNames) {
  GenerateRequest named = folder_request(source_path("tests/goldens/adapters/kohya"));
  fs::path file =
      source_path("tests/goldens/adapters/kohya") / named.adapters[0]["path"].get<std::string>();
  named.adapters = Json::array({{{"path", file.string()}, {"scale", 0.5}}});
  named.inputs["prompt"] = "a red apple";
  named.config["prompt_syntax"] = "a1111";
  GenerateRequest tagged = named;
  tagged.adapters = Json::array();
  tagged.inputs["prompt"] = "a red apple<lora:" + file.string() + ":0.5>";
  Proposal proposal = engine().check(tagged);
  EXPECT_THAT(told(proposal.errors), IsEmpty());
  EXPECT_EQ(proposal.request.inputs["prompt"], "a red apple");
  EXPECT_THAT(adapters_of(proposal), ElementsAre(std::pair(file.filename().string(), 0.5)));
  EXPECT_TRUE(run(tagged).image.equal(run(named).image));
  tagged.inputs["prompt"] = "a red apple<lora:no-such-adapter:0.5>";
  Proposal missing = engine().check(tagged);
  ASSERT_EQ(missing.errors.size(), 1u);
  EXPECT_EQ(missing.errors[0].value, "no-such-adapter");
}

TEST(PromptSyntax, NamesAdaptersInThePromptOnlyAndTheSameInEach) {
  GenerateRequest request = golden_request("sd15/a1111_weights");
  request.inputs["negative_prompt"] = "<lora:x:1>";
  request.inputs["prompt"] = {"a<lora:x:1>", "b<lora:x:0.5>"};
  EXPECT_THAT(
      told(engine().check(request).errors),
      ElementsAre("inputs.prompt: text 2: its <lora:...> are others than the first one's, and "
                  "adapters hold for all images of a request",
                  "inputs.negative_prompt: x: adapters are named in the prompt only"));
}

}  // namespace
}  // namespace omnirt::testing
