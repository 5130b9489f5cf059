// Runs whose weights come and go: the same images to the bit, and reports that say what took hold.
#include <gtest/gtest.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

// A run of each family, with what else holds weights.
struct Case {
  const char* name;
  const char* golden;
  Json config = Json::object();
  Json adapters = Json::array();
};

std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.name;
}

GenerateRequest request_of(const Case& each, const Json& memory) {
  GenerateRequest request = golden_request(each.golden);
  request.config["num_inference_steps"] = 2;
  request.config.update(each.config);
  request.config.update(memory);
  if (!each.adapters.empty()) request.adapters = each.adapters;
  return request;
}

void expect_equal(const Outcome& got, const Outcome& expected) {
  ASSERT_EQ(got.latents_after.size(), expected.latents_after.size());
  for (size_t i = 0; i < got.latents_after.size(); ++i)
    EXPECT_TRUE(got.latents_after[i].equal(expected.latents_after[i])) << "step " << i;
  EXPECT_TRUE(got.image.equal(expected.image));
}

class Offloaded : public ::testing::TestWithParam<Case> {};

TEST_P(Offloaded, GivesTheSameBitsHoweverWeightsComeAndGo) {
  const Outcome resident = run(request_of(GetParam(), Json::object()));
  EXPECT_FALSE(resident.report.memory.plan);
  for (const Json& memory :
       {Json{{"offload", "component"}}, Json{{"offload", "group"}, {"blocks_per_group", 1}},
        Json{{"offload", "group"}}, Json{{"offload", "leaf"}}}) {
    SCOPED_TRACE(memory.dump());
    const Outcome moved = run(request_of(GetParam(), memory));
    expect_equal(moved, resident);
    ASSERT_TRUE(moved.report.memory.plan);
    EXPECT_EQ(name_of(moved.report.memory.plan->offload), memory["offload"]);
    const bool streams = memory["offload"] == "leaf" || memory.contains("blocks_per_group");
    if (streams) EXPECT_GT(moved.report.memory.weights_moved_bytes, 0U);
    if (memory["offload"] == "component") EXPECT_EQ(moved.report.memory.weights_moved_bytes, 0U);
  }
}

std::string adapter(const char* file) {
  return source_path(std::string("tests/goldens/adapters/files/") + file).string();
}

INSTANTIATE_TEST_SUITE_P(
    Families, Offloaded,
    ::testing::Values(
        Case{"sd15", "sd15/text2image"}, Case{"sd2", "sd2/text2image"},
        Case{"sdxl", "sdxl/text2image"}, Case{"pixart_alpha", "pixart_alpha/text2image"},
        Case{"flux2_klein", "flux2_klein/text2image"}, Case{"flux2_dev", "flux2_dev/text2image"},
        Case{"flux2_klein_kv", "flux2_klein_kv/edit_of_two"},
        Case{"flux3_klein", "flux3_klein/edit"},
        Case{"flux3_klein_base", "flux3_klein_base/negative"},
        Case{"flux_dev", "flux_dev/text2image"}, Case{"flux_fill", "flux_fill/inpaint"},
        Case{"flux_kontext", "flux_kontext/edit"},
        Case{"flux_kontext_inpaint", "flux_kontext/inpaint"},
        Case{"flux_control_inpaint", "flux_control/inpaint"},
        Case{"flux_control", "flux_control/text2image"},
        Case{"flux_controlnets", "../control/flux/union_two"},
        Case{"sd3_controlnet", "../control/sd3/one"},
        Case{"sd3_controlnet_single", "../control/sd3/single"},
        Case{"sd3_controlnet_inpaint", "../control/sd3/inpaint_two"},
        Case{"qwen_image_controlnet", "../control/qwen_image/one"},
        Case{"qwen_image_controlnet_inpaint", "../control/qwen_image/inpaint"},
        Case{"qwen_image_blockwise", "../control/qwen_image/blockwise_two"},
        Case{"qwen_image_context", "../control/qwen_image/context"},
        Case{"qwen_image_entities", "../control/qwen_image/entities_on_negative"},
        Case{"flux_redux", "../control/flux/redux_prompt"},
        Case{"flux_ip_adapter", "../control/flux/ip_negative"},
        Case{"flux_control_lora", "../control/flux/lora_text2image"},
        Case{"z_image_controlnet", "../control/z_image/one"},
        Case{"z_image_controlnet_inpaint", "../control/z_image/inpaint_own_refiner"},
        Case{"qwen_image", "qwen_image/text2image"},
        Case{"qwen_image_layered", "qwen_image_layered/two"},
        Case{"qwen_image_edit", "qwen_image_edit/edit"},
        Case{"qwen_image_edit_inpaint", "qwen_image_edit/inpaint"},
        Case{"z_image", "z_image/text2image"}, Case{"z_image_omni", "z_image_omni/edit_of_two"},
        Case{"lumina2", "lumina2/negative"}, Case{"aura_flow", "aura_flow/negative"},
        Case{"chroma", "chroma/negative"}, Case{"krea2", "krea2/negative"},
        Case{"qwen_image_21", "qwen_image_21/negative"},
        Case{"qwen_image_21_edit", "qwen_image_21/edit_of_three"}, Case{"sana", "sana/prompts"},
        Case{"sd3", "sd3/text2image"}, Case{"sd3_pag", "sd3/pag_alone"},
        Case{"sd35", "sd35/skip_layers"}, Case{"int8", "sd15/text2image", {{"quantize", "int8"}}},
        Case{"merged", "sd15/text2image", Json::object(),
             Json::array({{{"path", adapter("kohya.safetensors")}, {"mode", "merged"}}})},
        Case{"beside", "sd15/text2image", Json::object(),
             Json::array({{{"path", adapter("kohya.safetensors")}, {"mode", "beside"}}})}),
    [](const auto& info) { return std::string(info.param.name); });

// What steps share of each other, as a plan counts it: to the byte.
struct Features {
  const char* name;
  const char* golden;  // a run of tests/goldens/pipelines, or a model
  Json config;
};

std::ostream& operator<<(std::ostream& out, const Features& each) {
  return out << each.name;
}

class SharedFeatures : public ::testing::TestWithParam<Features> {
 protected:
  // Kept between the steps of the loop: planned, and measured.
  struct Bytes {
    int64_t planned = 0, kept = 0;
  };
  static Bytes bytes_of(const Json& config) {
    const std::string name = GetParam().golden;
    GenerateRequest request;
    if (name.find('/') != std::string::npos) {
      request = golden_request(name);
    } else {
      request.model = source_path("models/" + name).string();
      request.task = "text2image";
      request.inputs["prompt"] = "a red apple";
    }
    request.config.update({{"num_inference_steps", 4}, {"offload", "component"}});
    request.config.update(config);
    const RunReport report = run(request).report;
    return {static_cast<int64_t>(report.memory.plan.value().kept_between_steps_bytes),
            static_cast<int64_t>(report.memory.kept_between_steps_bytes)};
  }
};

TEST_P(SharedFeatures, AreInThePlan) {
  for (const int64_t rows : {1, 8}) {
    Json plain = {{"num_images_per_prompt", 3}, {"max_batch_rows", rows}};
    plain.update({{"width", 96}, {"height", 64}});
    Json cached = plain;
    cached.update(GetParam().config);
    const Bytes without = bytes_of(plain), with = bytes_of(cached);
    const int64_t planned = with.planned - without.planned, kept = with.kept - without.kept;
    EXPECT_GT(kept, 0);
    EXPECT_EQ(planned, kept) << rows;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Caches, SharedFeatures,
    ::testing::Values(
        Features{"first_block_emoji", "emoji", {{"cache", "first_block"}}},
        Features{"first_block_flux", "flux_dev/text2image", {{"cache", "first_block"}}},
        Features{"first_block_qwen", "qwen_image/text2image", {{"cache", "first_block"}}},
        Features{"mag_flux2",
                 "flux2_klein/text2image",
                 {{"cache", "mag"}, {"cache_ratios", {1.0, 1.1, 1.0}}}},
        Features{"taylorseer_emoji",
                 "emoji",
                 {{"cache", "taylorseer"}, {"taylor_factors_dtype", "fp32"}}},
        Features{"taylorseer_flux2", "flux2_klein/text2image", {{"cache", "taylorseer"}}},
        Features{"taylorseer_lite",
                 "qwen_image/text2image",
                 {{"cache", "taylorseer"}, {"use_lite_mode", true}}},
        Features{"deep_emoji_sd", "emoji-sd", {{"cache", "deep"}}},
        Features{"deep_on_a_line", "emoji-sd", {{"cache", "deep"}, {"cache_order", 1}}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(MemoryBudget, IsRefusedBeforeAnyWorkWithTheLeastThatCanBe) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config["memory_budget"] = "1MB";
  Proposal proposal = engine().check(request);
  ASSERT_EQ(proposal.errors.size(), 1U);
  EXPECT_EQ(proposal.errors[0].field, "config.memory_budget");
  EXPECT_NE(proposal.errors[0].message.find("at the least"), std::string::npos);
  RunReport report;
  EXPECT_THROW(engine().run(request, {}, {}, report), InvalidRequest);
  EXPECT_TRUE(report.denoise_steps_ms.empty());
  // What it names is enough.
  request.config["memory_budget"] =
      std::to_string(proposal.memory_plan.value().predicted_peak_bytes + (32U << 20));
  EXPECT_TRUE(engine().check(request).ok());
}

TEST(MemoryBudget, RefusesWhatItCannotForesee) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config["memory_budget"] = "4GB";
  request.config["level"] = "eager";
  Proposal proposal = engine().check(request);
  ASSERT_FALSE(proposal.ok());
  EXPECT_NE(proposal.errors[0].message.find("eager"), std::string::npos);
}

TEST(MemoryBudget, RefusesWordsThatAreNoSize) {
  GenerateRequest request = golden_request("sd15/text2image");
  for (const char* text : {"lots", "6 apples", "-1GB"}) {
    request.config["memory_budget"] = text;
    Proposal proposal = engine().check(request);
    ASSERT_EQ(proposal.errors.size(), 1U) << text;
    EXPECT_EQ(proposal.errors[0].message, "not a size of memory");
  }
}

TEST(MemoryBudget, BlocksPerGroupNeedOffloadByGroup) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config["blocks_per_group"] = 2;
  const Proposal proposal = engine().check(request);
  ASSERT_EQ(proposal.warnings.size(), 1U);
  EXPECT_EQ(proposal.warnings[0].field, "config.blocks_per_group");
}

TEST(MemoryBudget, ASecondRequestReadsNothingWhereAllFits) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config["memory_budget"] = "8GB";
  run(request);
  Outcome again = run(request);
  EXPECT_EQ(again.report.memory.weights_moved_bytes, 0U);
  for (const PlannedComponentReport& component : again.report.memory.plan.value().components)
    EXPECT_EQ(component.offload, Offload::none);
}

TEST(MemoryBudget, AKnownPromptIsNotEncodedAgain) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.inputs["prompt"] = "a prompt that no other test has";
  const Outcome first = run(request), second = run(request);
  EXPECT_LE(first.report.remembered_calls, 1U);  // the negative prompt's, of another test
  EXPECT_EQ(second.report.remembered_calls, 2U);
  expect_equal(second, first);
  request.config["clip_skip"] = 1;
  EXPECT_LE(run(request).report.remembered_calls, 1U);
}

TEST(MemoryBudget, IsRefusedByBackendsThatPlanNothing) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.backend = "cpu-stub";
  request.config["memory_budget"] = "8GB";
  Proposal proposal = engine().check(request);
  ASSERT_FALSE(proposal.ok());
  EXPECT_NE(proposal.errors[0].message.find("does not plan memory"), std::string::npos);
}

}  // namespace
}  // namespace omnirt::testing
