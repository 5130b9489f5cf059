// Requests with adapters: the reference's images, exact undoing, both modes, truthful reports and
// refusals.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

// As tests/catalogue/goldens_test.cpp has them.
constexpr double embeds_tolerance = 2e-5;
constexpr double latents_tolerance = 1e-3;
constexpr double picture_floor_db = 60;

fs::path folder() {
  return source_path("tests/goldens/adapters");
}

GenerateRequest request_of(const std::string& name) {
  GenerateRequest request = folder_request(folder() / name);
  for (Json& adapter : request.adapters)
    adapter["path"] = (folder() / name / adapter["path"].get<std::string>()).string();
  return request;
}

// A run of the case's image with these adapters of tests/goldens/adapters/files.
GenerateRequest with(std::vector<Json> adapters) {
  GenerateRequest request = request_of("kohya");
  request.adapters = Json::array();
  for (Json& adapter : adapters) {
    adapter["path"] = (folder() / "files" / adapter["path"].get<std::string>()).string();
    request.adapters.push_back(adapter);
  }
  return request;
}

std::string refusal(const GenerateRequest& request) {
  Proposal proposal = engine().check(request);
  std::string text;
  for (const Finding& finding : proposal.errors) text += finding.text() + "\n";
  return text;
}

void expect_equal(const Outcome& outcome, const std::string& name) {
  auto golden = read_tensors(folder() / name / "golden.safetensors");
  for (auto [condition, tensor] :
       {std::pair{"cond", "prompt_embeds"}, std::pair{"uncond", "negative_prompt_embeds"}}) {
    if (!golden.contains(tensor)) continue;
    EXPECT_LT(relative_error(outcome.prompt_embeds.at(condition), golden.at(tensor)),
              embeds_tolerance);
  }
  for (const auto& [tensor, expected] : golden) {
    if (!tensor.starts_with("latents_after_step_")) continue;
    EXPECT_LT(relative_error(outcome.latents_after.back(), expected), latents_tolerance);
  }
  double db = psnr(outcome.image, golden.at("image"), 1.0);
  EXPECT_GT(db, picture_floor_db);
  ::testing::Test::RecordProperty("psnr", std::to_string(db));
}

class GoldenAdapter : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenAdapter, GivesTheReferencesImage) {
  for (const char* level : {"eager", "compile"}) {
    SCOPED_TRACE(level);
    GenerateRequest request = request_of(GetParam());
    request.config["level"] = level;
    expect_equal(run(request), GetParam());
  }
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (fs::exists(entry.path() / "request.json"))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenAdapter, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param; });

TEST(Adapters, StandBesideTheWeightsWithTheSameImage) {
  for (const char* name : {"kohya_conv", "two", "blocks"}) {
    for (const char* level : {"eager", "compile"}) {
      SCOPED_TRACE(std::string(name) + " " + level);
      GenerateRequest request = request_of(name);
      request.config["level"] = level;
      for (Json& adapter : request.adapters) adapter["mode"] = "beside";
      Outcome outcome = run(request);
      expect_equal(outcome, name);
      EXPECT_EQ(outcome.report.adapters.at(0).mode, "beside");
    }
  }
}

TEST(Adapters, AreUndoneExactlyWhereTheNextRequestHasNone) {
  for (const char* mode : {"merged", "beside"}) {
    GenerateRequest plain = with({}),
                    adapted = with({{{"path", "kohya.safetensors"}, {"mode", mode}}});
    Tensor before = run(plain).image, between = run(adapted).image;
    EXPECT_TRUE(at::equal(run(plain).image, before));
    EXPECT_FALSE(at::equal(between, before));
    EXPECT_TRUE(at::equal(run(adapted).image, between));
  }
}

TEST(Adapters, AreToldWithTheLayersThatEachChanged) {
  RunReport report = run(request_of("two")).report;
  EXPECT_GT(report.adapters_ms, 0);
  ASSERT_EQ(report.adapters.size(), 2u);
  const AdapterReport& first = report.adapters[0];
  EXPECT_EQ(first.kind, "lora");
  EXPECT_EQ(first.layout, "kohya");
  EXPECT_EQ(first.mode, "merged");
  EXPECT_EQ(first.scale, 0.7);
  EXPECT_EQ(first.ranks, std::vector<int64_t>{4});
  EXPECT_EQ(first.alphas, std::vector<double>{2});
  // Ten transformer blocks of nine layers; three layers of four.
  EXPECT_EQ(first.layers.at("unet"), 90);
  EXPECT_EQ(first.layers.at("text_encoder"), 12);
  EXPECT_EQ(report.adapters[1].scale, -0.4);
  EXPECT_EQ(run(request_of("token_of_vectors")).report.adapters.at(0).tokens,
            std::vector<std::string>{"<hat>"});
}

TEST(Adapters, OfScaleZeroGiveThePlainImageAndAreTold) {
  Outcome zero = run(with({{{"path", "kohya.safetensors"}, {"scale", 0}}}));
  EXPECT_TRUE(at::equal(zero.image, run(with({})).image));
  ASSERT_EQ(zero.report.warnings.size(), 1u);
  EXPECT_THAT(zero.report.warnings[0].message, HasSubstr("it changes nothing"));
}

TEST(Adapters, WorkOverWeightsRoundedToEightBits) {
  GenerateRequest plain = with({}), adapted = with({{{"path", "kohya.safetensors"}}});
  for (auto* request : {&plain, &adapted}) request->config["quantize"] = "int8";
  Tensor golden = read_tensors(folder() / "kohya" / "golden.safetensors").at("image");
  // Rounded weights make another image, nearer to the adapter's than the plain one is.
  EXPECT_GT(psnr(run(adapted).image, golden, 1.0), psnr(run(plain).image, golden, 1.0) + 6);
}

TEST(Adapters, AreRefusedWithTheField) {
  EXPECT_THAT(refusal(with({{{"path", "nothing.safetensors"}}})), HasSubstr("no such adapter"));
  EXPECT_THAT(refusal(with({{{"path", "kohya.safetensors"}, {"scael", 1}}})),
              HasSubstr("did you mean 'scale'?"));
  EXPECT_THAT(refusal(with({{{"path", "kohya.safetensors"}, {"scale", "much"}}})),
              HasSubstr("adapters[0].scale"));
  EXPECT_THAT(refusal(with({{{"path", "kohya.safetensors"}, {"kind", "loha"}}})),
              HasSubstr("holds lora"));
  EXPECT_THAT(refusal(with({{{"path", "kohya.safetensors"}, {"mode", "above"}}})),
              HasSubstr("merged or beside"));
  EXPECT_THAT(refusal(with({{{"path", "loha.safetensors"}, {"mode", "beside"}}})),
              HasSubstr("only plain LoRA"));
  EXPECT_THAT(
      refusal(with({{{"path", "kohya.safetensors"}, {"scales", {{"unet.up_block.1", 1}}}}})),
      HasSubstr("unet.up_blocks.1"));
  EXPECT_THAT(refusal(with({{{"path", "token.safetensors"}, {"token", "a"}}})),
              HasSubstr("has this token already"));
  EXPECT_THAT(refusal(with({{{"path", "token.safetensors"}}, {{"path", "token.safetensors"}}})),
              HasSubstr("has this token already"));
  EXPECT_THAT(refusal(with({{{"path", "token.safetensors"}, {"scale", 0.5}}})),
              HasSubstr("has no scale"));
}

}  // namespace
}  // namespace omnirt::testing
