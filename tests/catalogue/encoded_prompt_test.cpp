// Prompts that come encoded, in a file: the images that the reference made of the same embeddings.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "catalogue/support.hpp"
#include "io/safetensors_writer.hpp"

namespace omnirt::testing {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tensors = std::map<std::string, Tensor>;

void write_embeds(const std::string& path, const Tensors& tensors) {
  std::vector<io::TensorView> views;
  std::vector<Tensor> kept;
  for (const auto& [name, tensor] : tensors) {
    kept.push_back(tensor.to(at::kFloat).contiguous());
    std::span bytes(static_cast<const std::byte*>(kept.back().const_data_ptr()),
                    kept.back().nbytes());
    views.push_back({name, io::Dtype::f32, kept.back().sizes().vec(), bytes});
  }
  io::write_safetensors(path, views, {});
}

Tensors golden_of(const std::string& name) {
  return read_tensors(source_path("tests/goldens/pipelines/" + name) / "golden.safetensors");
}

Tensors embeds_of(const std::string& golden) {
  Tensors all = golden_of(golden), made;
  for (const auto& [name, tensor] : all)
    if (name.ends_with("prompt_embeds")) made[name] = tensor;
  return made;
}

class EncodedPrompt : public ::testing::Test {
 protected:
  GenerateRequest encoded(const std::string& golden, const Tensors& tensors) {
    write_embeds(folder_.file("embeds.safetensors"), tensors);
    GenerateRequest request = golden_request(golden);
    request.inputs = {{"encoded_prompt", folder_.file("embeds.safetensors")}};
    request.config.erase("prompt_syntax");
    return request;
  }

  // Fields and messages of what is refused.
  std::vector<std::string> refusals(const GenerateRequest& request) {
    std::vector<std::string> all;
    for (const Finding& finding : engine().check(request).errors)
      all.push_back(finding.field + ": " + finding.message);
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(EncodedPrompt, MakesTheReferencesImage) {
  for (const char* golden : {"sd15/text2image", "sd15/text2image_prompts", "sd15/a1111_long",
                             "sd2/a1111_weights", "sdxl/a1111_weights", "sdxl/a1111_long"}) {
    Outcome made = run(encoded(golden, embeds_of(golden)));
    EXPECT_GE(psnr(made.image, golden_of(golden).at("image").to(at::kFloat), 1), 60) << golden;
  }
}

TEST_F(EncodedPrompt, NeedsNoTextEncoderAndNamesItsFileInTheReport) {
  GenerateRequest request = encoded("sd15/text2image", embeds_of("sd15/text2image"));
  Proposal proposal = engine().check(request);
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.inputs_json()["encoded_prompt"], folder_.file("embeds.safetensors"));
  request.inputs["prompt"] = "a red apple";
  EXPECT_THAT(refusals(request), ElementsAre("inputs.prompt: prompts come encoded here"));
}

TEST_F(EncodedPrompt, IsRefusedWhereItDoesNotFit) {
  Tensors fine = embeds_of("sdxl/a1111_weights"), some = fine;
  auto only = [&](const Tensors& tensors) {
    std::vector<std::string> found = refusals(encoded("sdxl/a1111_weights", tensors));
    return found.empty() ? std::string("fine") : found.front();
  };
  EXPECT_EQ(only(fine), "fine");
  some.erase("negative_prompt_embeds");
  EXPECT_EQ(only(some), "inputs.encoded_prompt: has no negative_prompt_embeds");
  some = fine;
  some.erase("pooled_prompt_embeds");
  EXPECT_THAT(only(some), HasSubstr("and no pooled_prompt_embeds"));
  some = fine;
  some["prompt_embeds"] = at::zeros({1, 8, 40});
  some["negative_prompt_embeds"] = at::zeros({1, 8, 40});
  EXPECT_THAT(only(some), HasSubstr("its prompt_embeds is 40 wide, and the model takes 56"));
  some = fine;
  some["pooled_prompt_embeds"] = at::zeros({1, 21});
  some["negative_pooled_prompt_embeds"] = at::zeros({1, 21});
  EXPECT_THAT(only(some), HasSubstr("its pooled_prompt_embeds is 21 wide"));
  some = fine;
  some["negative_prompt_embeds"] = at::zeros({1, 9, 56});
  EXPECT_THAT(only(some), HasSubstr("{1, 8, 56}, and its negative_prompt_embeds {1, 9, 56}"));
  some = fine;
  some["latents"] = at::zeros({1, 4, 8, 8});
  EXPECT_THAT(only(some), HasSubstr("has a tensor 'latents'"));
  some = fine;
  some["prompt_embeds"] = at::zeros({8, 56});
  EXPECT_THAT(only(some), HasSubstr("its prompt_embeds is {8, 56}"));
}

TEST_F(EncodedPrompt, RefusesNumbersThatAreNotFinite) {
  Tensors tensors = embeds_of("sd15/text2image");
  tensors["prompt_embeds"] = tensors["prompt_embeds"].clone();
  tensors["prompt_embeds"][0][0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(run(encoded("sd15/text2image", tensors)), InvalidRequest);
}

TEST_F(EncodedPrompt, IsTheSameImageInASplitRun) {
  GenerateRequest first = encoded("sdxl/a1111_weights", embeds_of("sdxl/a1111_weights")), second;
  Tensor whole = run(first).image;
  for (const char* block : {"start_noise_of_encoded", "take_encoded_prompt"}) {
    first.config["stop_after"] = block;
    first.config["state"] = folder_.file("state.safetensors");
    run(first);
    second.config["resume"] = folder_.file("state.safetensors");
    EXPECT_TRUE(run(second).image.equal(whole)) << block;
  }
}

TEST_F(EncodedPrompt, IsNoInputOfFamiliesWithoutIt) {
  GenerateRequest request = golden_request("pixart_sigma/text2image");
  request.inputs["encoded_prompt"] = folder_.file("embeds.safetensors");
  EXPECT_THAT(refusals(request),
              ElementsAre("inputs.encoded_prompt: task text2image has no such input"));
}

}  // namespace
}  // namespace omnirt::testing
