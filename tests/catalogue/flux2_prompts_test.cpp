// What is reported about prompts to FLUX.2 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

std::filesystem::path model() {
  return source_path("tests/goldens/pipelines/flux2_klein_base/model");
}

GenerateRequest request(const std::string& prompt, const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = model().string();
  made.inputs["prompt"] = prompt;
  made.config = config;
  return made;
}

TEST(Flux2Prompts, HaveTheReferencesLength) {
  Proposal usual = engine().check(request("apple"), {});
  EXPECT_EQ(usual.config.find("max_sequence_length")->value, 512);
  EXPECT_THAT(usual.warnings, Not(about("inputs.prompt")));
}

TEST(Flux2Prompts, AreQuotedWhereTheyAreCut) {
  GenerateRequest long_one = request("the sea at night", {{"max_sequence_length", 5}});
  long_one.inputs["negative_prompt"] = "";
  Proposal cut = engine().check(long_one, {});
  EXPECT_THAT(cut.warnings, Not(about("inputs.negative_prompt")));
  // Without the words of the conversation around it.
  EXPECT_THAT(cut.warnings,
              ::testing::Contains(::testing::AllOf(
                  ::testing::Field(&Finding::field, "inputs.prompt"),
                  ::testing::Field(&Finding::value, ::testing::EndsWith("at night")))));
}

TEST(Flux2Prompts, AreReadFromLayersThatTheEncoderHas) {
  auto with = [](const Json& layers) {
    return engine().check(request("apple", {{"text_encoder_out_layers", layers}}), {}).errors;
  };
  EXPECT_THAT(with({9, 18, 27}), IsEmpty());
  EXPECT_THAT(with({-20, 18, -2}), IsEmpty());
  EXPECT_THAT(with({9, 18, 29}), about("config.text_encoder_out_layers", "28 layers"));
  EXPECT_THAT(with({9, 18, -30}), about("config.text_encoder_out_layers", "28 layers"));
  EXPECT_THAT(with(Json::array()), about("config.text_encoder_out_layers"));
  EXPECT_THAT(with({9, 18}), about("config.text_encoder_out_layers", "the transformer reads 24"));
}

TEST(Flux2Prompts, OfAnotherTemplateAreToldByItsFile) {
  TempFolder folder;
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
    std::filesystem::copy_file(model() / "tokenizer" / file, folder.path() / file);
  std::ofstream(folder.path() / "chat_template.jinja") << "{{ messages[0].content }}";
  GenerateRequest other = request("apple");
  other.components["tokenizer"] = folder.path().string();
  EXPECT_THAT(engine().check(other, {}).warnings, about("model.tokenizer", "chat_template"));
  EXPECT_THAT(engine().check(request("apple"), {}).warnings, Not(about("model.tokenizer")));
}

TEST(Flux2Prompts, AreReadByATokenizerOfTheModelsClassWhereItsFolderNamesNone) {
  TempFolder folder;
  std::filesystem::copy_file(model() / "tokenizer/tokenizer.json",
                             folder.path() / "tokenizer.json");
  GenerateRequest other = request("apple");
  other.components["tokenizer"] = folder.path().string();
  Proposal proposal = engine().check(other, {});
  EXPECT_EQ(proposal.folder.find("tokenizer")->class_name, "Qwen2TokenizerFast");
  // Nothing else goes without a config.
  other.components = {{"vae", folder.path().string()}};
  EXPECT_THAT(engine().check(other, {}).errors, about("components.vae", "names a class"));
}

}  // namespace
}  // namespace omnirt::testing
