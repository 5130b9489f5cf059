// What prompts of other syntaxes than the plain one promise in addition to their goldens.
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
    EXPECT_EQ(proposal.warnings[0].way_out,
              "set config.prompt_syntax=a1111, which reads them as weights");
    EXPECT_EQ(proposal.warnings[1].way_out,
              "set adapters.path=FILE, or config.prompt_syntax=a1111");
  }
}

TEST(PromptSyntax, RefusesWhatA1111DoesBeyondThisBeforeAnyWeightIsRead) {
  for (const char* golden : {"sd15/a1111_weights", "sdxl/a1111_weights"}) {
    GenerateRequest request = prompted(golden, "a cat AND a dog");
    request.inputs["negative_prompt"] = "(a:2000)";
    EXPECT_THAT(told(engine().check(request).errors),
                ElementsAre("inputs.prompt: AND a dog: composed prompts (AND) are not supported by "
                            "prompt_syntax a1111",
                            "inputs.negative_prompt: 2000: a weight beyond 1000"))
        << golden;
  }
}

// Words that are the same at each step, or of which one is never read, change nothing.
TEST(PromptSyntax, ReadsTheWordsOfEachStep) {
  for (const char* golden : {"sd15/a1111_weights", "sdxl/a1111_weights"}) {
    Tensor red = run(prompted(golden, "a red apple")).image;
    for (const char* same : {"a [red|red] apple", "a [blue:red:0] apple", "a [red:blue:1.0] apple"})
      EXPECT_TRUE(run(prompted(golden, same)).image.equal(red)) << golden << ": " << same;
    EXPECT_FALSE(run(prompted(golden, "a [red|blue] apple")).image.equal(red)) << golden;
  }
}

// Cut where the turns have been encoded, and before they are taken.
TEST(PromptSyntax, KeepsTheWordsOfEachStepInASplitRun) {
  for (const char* golden : {"sd15/a1111_editing", "sdxl/a1111_editing"}) {
    Tensor whole = run(golden_request(golden)).image;
    for (const char* block : {"start_noise", "prepare_latents"}) {
      TemporaryFolder folder;
      GenerateRequest first = golden_request(golden), second;
      first.config["stop_after"] = block;
      first.config["state"] = folder.file("state.safetensors");
      run(first);
      second.config["resume"] = folder.file("state.safetensors");
      EXPECT_TRUE(run(second).image.equal(whole)) << golden << " cut after " << block;
    }
  }
}

TEST(PromptSyntax, LetsEachPromptChangeByItself) {
  GenerateRequest both = golden_request("sd15/a1111_weights");
  both.inputs["prompt"] = {"a [red|blue] apple", "the [sea:night:0.5]"};
  both.config["scheduler"] = "DDIMScheduler";
  Outcome together = run(both);
  GenerateRequest alone = both;
  alone.inputs["prompt"] = "the [sea:night:0.5]";
  alone.config["seed"] = both.config["seed"].get<int64_t>() + 1;
  // Batches of other sizes add in another order.
  EXPECT_LT(relative_error(together.image.narrow(0, 1, 1), run(alone).image), 1e-4);
}

TEST(PromptSyntax, ReadsOnePromptForBothTextEncodersOfXl) {
  GenerateRequest request = golden_request("sdxl/a1111_weights");
  request.inputs["prompt_2"] = "the sea";
  EXPECT_THAT(told(engine().check(request).errors),
              ElementsAre("inputs.prompt_2: the sea: prompt_syntax a1111 reads one prompt for both "
                          "text encoders"));
}

TEST(PromptSyntax, RefusesWhatCompelDoesBeyondThisBeforeAnyWeightIsRead) {
  for (const char* golden : {"sd15/compel_weights", "sdxl/compel_weights"}) {
    GenerateRequest request = prompted(golden, "a cat.swap(dog)");
    request.inputs["negative_prompt"] = "(\"a\", \"b\").blend(1)";
    EXPECT_THAT(told(engine().check(request).errors),
                ElementsAre("inputs.prompt: cat.swap(dog): .swap() is not supported by "
                            "prompt_syntax compel",
                            "inputs.negative_prompt: 1 weights: .blend() has 2 prompts"))
        << golden;
  }
}

TEST(PromptSyntax, WarnsOfCompelsOperatorsInAPlainPrompt) {
  Proposal proposal = engine().check(prompted("sd15/text2image", "(\"a\", \"b\").blend(1, 1)"));
  EXPECT_THAT(told(proposal.warnings),
              ElementsAre("inputs.prompt: ).blend(: a plain prompt has no operators: these are "
                          "words"));
}

TEST(PromptSyntax, BoundsWhatACompelPromptTakes) {
  std::string lowered;
  for (int i = 0; i < 256; ++i) lowered += i % 2 ? "b " : "(a)0.5 ";
  std::string parts = "(\"" + lowered + "\"", longest = "(a";
  for (int i = 0; i < 16; ++i) longest += ", a";
  for (const auto& [text, message] :
       {std::pair(parts + ", \"" + lowered + "\").blend()",
                  "a prompt and its parts may take at most 256 of the text encoder's windows"),
        std::pair(longest + ").and()",
                  "a prompt may have at most 16 of the text encoder's windows")}) {
    try {
      run(prompted("sd15/compel_weights", text));
      FAIL() << "it ran";
    } catch (const InvalidRequest& thrown) {
      ASSERT_EQ(thrown.findings().size(), 1u);
      EXPECT_EQ(thrown.findings()[0].message, message);
    }
  }
}

TEST(PromptSyntax, IsNoKeyOfModelsWithoutClip) {
  GenerateRequest request = golden_request("pixart_sigma/text2image");
  request.config["prompt_syntax"] = "a1111";
  EXPECT_THAT(told(engine().check(request).warnings),
              Contains("config.prompt_syntax: \"a1111\": unknown config key, ignored"));
}

// Without weights, and within a window, the reading is the plain one except for the scaling by a
// mean of 1 in floats.
TEST(PromptSyntax, MakesOfPlainWordsWhatPlainMakes) {
  GenerateRequest request = golden_request("sd15/text2image");
  Outcome plain = run(request);
  for (const char* syntax : {"a1111", "compel"}) {
    request.config["prompt_syntax"] = syntax;
    Outcome same = run(request);
    // A text encoder that looks at a mask may add in another order.
    for (const char* name : {"cond", "uncond"})
      EXPECT_LT(relative_error(same.prompt_embeds.at(name), plain.prompt_embeds.at(name)), 2e-5);
  }
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
