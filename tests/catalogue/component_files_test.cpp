// Components that a request gives as a folder or as a file, in diffusers' names and in the
// original's.
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "catalogue/catalogue.hpp"
#include "catalogue/plain_models.hpp"
#include "catalogue/support.hpp"
#include "io/sharded.hpp"
#include "io/temp_folder.hpp"
#include "small_models.hpp"
#include "weights/adapters/adapter_file.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

GenerateRequest request_of(const fs::path& model) {
  GenerateRequest request;
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 1}, {"seed", 1}, {"width", 64}, {"height", 64}};
  request.model = model.string();
  return request;
}

Tensor image_with(const fs::path& model, const std::string& component, const fs::path& given) {
  GenerateRequest request = request_of(model);
  request.components[component] = given.string();
  return run(request).image;
}

// The one file of a component's folder.
fs::path weights_in(const fs::path& folder) {
  for (const char* name : {"diffusion_pytorch_model.safetensors", "model.safetensors"})
    if (fs::exists(folder / name)) return folder / name;
  return {};
}

// A component of a small model in one of its original layouts.
NamedTensors in_layout(const Catalogue& catalogue, const fs::path& folder,
                       const std::string& class_name, const std::string& layout) {
  const nn::NetworkInfo& info = *catalogue.find_network(class_name);
  const auto network = info.make(read_json_file(folder / "config.json"), folder.string());
  const auto files = io::TensorFiles::open(folder, std::span(&info.weights_base, 1));
  NamedTensors made;
  auto store = std::make_shared<WeightStore>();
  for (const std::string& name : files.names()) {
    std::string own =
        name.starts_with(info.published_prefix) ? name.substr(info.published_prefix.size()) : name;
    store->add(own, weight_of(*files.find(name)));
  }
  for (const io::TensorSource& source :
       original_tensors(*store, *network, original_layout(*network, layout), "")) {
    std::vector<std::byte> bytes;
    source.produce([&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    made[source.name] =
        at::from_blob(bytes.data(), source.shape, scalar_type(source.dtype)).clone();
  }
  return made;
}

// Each network component of small models, as a folder, as the file in it, and as a file of its own
// in each layout and with the prefixes that checkpoints have.
TEST(ComponentFiles, GiveTheImageOfTheFolder) {
  struct Case {
    const char *model, *component, *class_name;
    std::vector<std::string> layouts, prefixes;
  };
  const Catalogue catalogue = builtin_catalogue();
  for (const Case& each : std::vector<Case>{
           {"sd15", "vae", "AutoencoderKL", {"ldm"}, {"", "first_stage_model.", "vae."}},
           {"sd15", "unet", "UNet2DConditionModel", {"ldm"}, {"", "model.diffusion_model."}},
           {"sd15",
            "text_encoder",
            "CLIPTextModel",
            {"clip"},
            {"", "cond_stage_model.transformer."}},
           {"sd21",
            "text_encoder",
            "CLIPTextModel",
            {"open_clip"},
            {"", "cond_stage_model.model."}},
           {"sdxl", "vae", "AutoencoderKL", {"ldm"}, {"first_stage_model."}},
           {"sdxl", "unet", "UNet2DConditionModel", {"ldm"}, {"model.diffusion_model."}},
           {"flux1.dev", "vae", "AutoencoderKL", {"ldm"}, {"", "vae."}},
           {"flux1.dev", "transformer", "FluxTransformer2DModel", {"flux"}, {"", "transformer."}},
           {"sd3-medium", "transformer", "SD3Transformer2DModel", {"sd3"}, {""}}}) {
    const fs::path model = small_model(each.model), folder = model / each.component;
    if (!fs::exists(weights_in(folder))) continue;
    const Tensor expected = run(request_of(model)).image;
    TempFolder temp;
    auto expect = [&](const std::string& what, const fs::path& given) {
      SCOPED_TRACE(std::string(each.model) + " " + each.component + " " + what);
      EXPECT_TRUE(image_with(model, each.component, given).equal(expected));
    };
    expect("folder", folder);
    expect("file in its folder", weights_in(folder));
    fs::copy_file(weights_in(folder), temp / "own.safetensors");
    expect("diffusers' names", temp / "own.safetensors");
    for (const std::string& layout : each.layouts) {
      const NamedTensors file = in_layout(catalogue, folder, each.class_name, layout);
      for (const std::string& prefix : each.prefixes) {
        save_safetensors(temp / "one.safetensors", with_prefix(file, "", prefix));
        expect(layout + " " + prefix, temp / "one.safetensors");
      }
    }
  }
}

TEST(ComponentFiles, MayHoldWhatTrainingLeft) {
  const PlainModel& model = plain_model("sd1");
  TempFolder temp;
  NamedTensors file = with_prefix(model.file, "first_stage_model.", "");
  file["loss.logvar"] = at::zeros({1});
  file["loss.discriminator.main.0.weight"] = at::zeros({4, 3, 4, 4});
  file["model_ema.decay"] = at::full({}, 0.99);
  save_safetensors(temp / "vae.safetensors", file);
  EXPECT_TRUE(image_with(model.folder, "vae", temp / "vae.safetensors")
                  .equal(run(request_of(model.folder)).image));
}

TEST(ComponentFiles, OfOtherComponentsAreRefusedWithWhatTheyHold) {
  const PlainModel& model = plain_model("sd1");
  TempFolder temp;
  save_safetensors(temp / "lora.safetensors",
                   {{"lora_unet_x.lora_down.weight", at::zeros({4, 8})}});
  GenerateRequest request = request_of(model.folder);
  request.components["vae"] = (temp / "lora.safetensors").string();
  const std::string told = message_of<InvalidRequest>([&] { run(request); });
  EXPECT_THAT(told, HasSubstr("components.vae"));
  EXPECT_THAT(told, HasSubstr("a LoRA adapter"));
  EXPECT_THAT(told, HasSubstr("encoder.down.*"));
}

// cog-sdxl's embeddings.pti: a row for each token, of both text encoders.
TEST(ComponentFiles, OfPivotalTuningBringTokensForBothEncoders) {
  TempFolder temp;
  save_safetensors(temp / "embeddings.safetensors", {{"text_encoders_0", at::full({2, 64}, 0.1)},
                                                     {"text_encoders_1", at::full({2, 64}, 0.2)}});
  const auto file = adapters::open_adapter(temp / "embeddings.safetensors", "", "adapters[0]");
  ASSERT_EQ(file.tokens.size(), 2u);
  EXPECT_EQ(file.tokens[0].encoder, "clip_l");
  EXPECT_EQ(file.tokens[1].encoder, "clip_g");
  EXPECT_EQ(file.tokens[0].token, "");
  GenerateRequest request = request_of(plain_model("sdxl").folder);
  request.adapters = {{{"path", (temp / "embeddings.safetensors").string()},
                       {"token", Json::array({"<s0>", "<s1>"})}}};
  request.inputs["prompt"] = "a <s0><s1> apple";
  const Proposal proposal = engine().check(request);
  EXPECT_TRUE(proposal.ok()) << proposal.check_report().to_json().dump(1);
  EXPECT_EQ(proposal.adapter_reports.at(0).tokens, (std::vector<std::string>{"<s0>", "<s1>"}));
}

// A pipeline's folder without one of the folders that its index lists.
class PartialFolder : public ::testing::Test {
 protected:
  PartialFolder() { fs::copy(model_, folder(), fs::copy_options::recursive); }
  fs::path folder() const { return temp_ / "model"; }

  fs::path model_ = small_model("sd15");
  TempFolder temp_;
};

TEST_F(PartialFolder, RunsWithTheComponentGiven) {
  fs::remove_all(folder() / "unet");
  EXPECT_TRUE(image_with(folder(), "unet", model_ / "unet").equal(run(request_of(model_)).image));
  const std::string told = message_of<InvalidRequest>([&] { run(request_of(folder())); });
  EXPECT_THAT(told, HasSubstr((folder() / "unet").string()));
  EXPECT_THAT(told, HasSubstr("components.unet"));
}

TEST_F(PartialFolder, RunsWithoutAnUnknownComponent) {
  Json index = read_json_file(folder() / "model_index.json");
  index["watermarker"] = {"diffusers", "SomethingNew"};
  std::ofstream(folder() / "model_index.json") << index.dump();
  EXPECT_TRUE(run(request_of(folder())).image.equal(run(request_of(model_)).image));
}

// A copy in the Hugging Face cache from which a blob is gone, or half of it.
TEST_F(PartialFolder, OfTheCacheNamesThePullThatMendsIt) {
  const fs::path snapshot = temp_ / "models--org--tiny" / "snapshots" / "0123";
  fs::create_directories(snapshot.parent_path());
  fs::rename(folder(), snapshot);
  auto told = [&] { return message_of<InvalidRequest>([&] { run(request_of(snapshot)); }); };
  const fs::path weights = weights_in(snapshot / "unet"), config = snapshot / "vae" / "config.json";
  const auto whole = fs::file_size(weights);
  fs::resize_file(weights, whole / 2);
  EXPECT_THAT(told(), HasSubstr("omnirt pull org/tiny"));
  fs::remove(weights);
  fs::create_symlink("../../../blobs/gone", weights);
  EXPECT_THAT(told(), HasSubstr("omnirt pull org/tiny"));
  fs::remove(weights);
  EXPECT_THAT(told(), HasSubstr("omnirt pull org/tiny"));
  fs::copy_file(weights_in(model_ / "unet"), weights);
  fs::remove(config);
  fs::create_symlink("../../../blobs/gone", config);
  EXPECT_THAT(told(), HasSubstr("omnirt pull org/tiny"));
}

}  // namespace
}  // namespace omnirt::testing
