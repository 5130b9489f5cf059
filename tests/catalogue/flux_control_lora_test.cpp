// BFL's control LoRAs, which widen the layer that reads the latents and bring norms of their own;
// the images are in goldens_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/safetensors_writer.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest lora_run(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/flux/" + name));
}

std::vector<Finding> errors_of(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

TEST(FluxControlLora, MakesAModelOneThatFollowsAControlImage) {
  for (const char* name : {"lora_text2image", "lora_image2image"})
    EXPECT_THAT(errors_of(lora_run(name)), IsEmpty()) << name;
  GenerateRequest request = lora_run("lora_text2image");
  request.inputs.erase("control_image");
  EXPECT_THAT(errors_of(request), about("inputs.control_image", "missing"));
  request = lora_run("lora_text2image");
  request.adapters = Json::array();
  EXPECT_FALSE(errors_of(request).empty());
}

TEST(FluxControlLora, LeavesTheModelAsItIsToRunsWithoutIt) {
  GenerateRequest request = lora_run("lora_text2image");
  const Tensor with = run(request).image;
  GenerateRequest without = request;
  without.adapters = Json::array();
  without.inputs.erase("control_image");
  const Tensor plain = run(without).image;
  EXPECT_LT(psnr(with, plain, 1.0), 60);
  // The same folder, without the adapter: the widened transformer is another component.
  EXPECT_TRUE(run(request).image.equal(with));
  EXPECT_TRUE(run(without).image.equal(plain));
}

// The file's part in other names.
std::filesystem::path renamed(const TempFolder& folder, const std::string& file,
                              const std::vector<std::pair<std::string, std::string>>& names) {
  const auto all =
      read_tensors(source_path("tests/goldens/control/parts_flux/control_lora.safetensors"));
  std::vector<Tensor> kept;
  std::vector<io::TensorView> views;
  for (const auto& [theirs, ours] : names) {
    const Tensor& tensor = kept.emplace_back(all.at("transformer." + theirs).to(at::kFloat));
    views.push_back({ours, io::Dtype::f32, tensor.sizes().vec(),
                     std::as_bytes(std::span(tensor.const_data_ptr<float>(),
                                             static_cast<size_t>(tensor.numel())))});
  }
  io::write_safetensors(folder.path() / file, views);
  return folder.path() / file;
}

TEST(FluxControlLora, IsReadInTheOriginalsNames) {
  const std::vector<std::pair<std::string, std::string>> original{
      {"x_embedder.lora_A.weight", "img_in.lora_A.weight"},
      {"x_embedder.lora_B.weight", "img_in.lora_B.weight"},
      {"x_embedder.lora_B.bias", "img_in.lora_B.bias"},
      {"transformer_blocks.0.attn.norm_q.weight", "double_blocks.0.img_attn.norm.query_norm.scale"},
      {"transformer_blocks.0.attn.norm_added_k.weight",
       "double_blocks.0.txt_attn.norm.key_norm.scale"},
      {"single_transformer_blocks.0.attn.norm_k.weight", "single_blocks.0.norm.key_norm.scale"}};
  std::vector<std::pair<std::string, std::string>> same;
  for (const auto& [theirs, ours] : original) same.emplace_back(theirs, "transformer." + theirs);
  const TempFolder folder;
  GenerateRequest request = lora_run("lora_text2image");
  request.adapters[0]["path"] = renamed(folder, "original.safetensors", original).string();
  const Tensor image = run(request).image;
  request.adapters[0]["path"] = renamed(folder, "diffusers.safetensors", same).string();
  EXPECT_TRUE(run(request).image.equal(image));
}

}  // namespace
}  // namespace omnirt::testing
