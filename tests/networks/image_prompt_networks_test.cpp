// What makes texts of images for FLUX.1 against transformers and diffusers
// (tools/goldens/flux_redux.py), and IP-Adapters' files (tools/goldens/flux_ip_adapter.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/flux_ip_adapter/model.hpp"
#include "networks/redux_image_encoder/model.hpp"
#include "networks/siglip_vision_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double state_tolerance = 1e-5;

TEST(SiglipVisionModel, GivesTheReferencesStates) {
  ASSERT_EQ(cases("siglip_vision").size(), 2U);
  for (const std::string& name : cases("siglip_vision")) {
    for (const bool channels_last : {false, true}) {
      const LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      const Tensors tensors = golden(name, "golden");
      Context cx = loaded.context();
      const Tensor made = loaded.as<SiglipVisionModel>().forward(cx, tensors.at("in.pixel_values"));
      EXPECT_LT(difference(made, tensors.at("out.states")), state_tolerance) << name;
    }
  }
}

TEST(SiglipVisionModel, RefusesAnotherSize) {
  const LoadedNetwork loaded = load_case("siglip_vision");
  Context cx = loaded.context();
  const Tensor pixels = golden("siglip_vision", "golden").at("in.pixel_values");
  EXPECT_THAT([&] { loaded.as<SiglipVisionModel>().forward(cx, pixels.narrow(2, 0, 16)); },
              ThrowsMessage<InvalidRequest>(HasSubstr("34x34")));
  EXPECT_THAT(
      [] {
        make<SiglipVisionModel>(siglip_vision_model_info(), {{"patch_size", 0}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("patch_size")));
}

TEST(ReduxImageEncoder, GivesTheReferencesEmbeddings) {
  const LoadedNetwork loaded = load_case("redux_image_encoder");
  const Tensors tensors = golden("redux_image_encoder", "golden");
  Context cx = loaded.context();
  const Tensor made = loaded.as<ReduxImageEncoder>().forward(cx, tensors.at("in.states"));
  EXPECT_LT(difference(made, tensors.at("out.embeds")), state_tolerance);
}

TEST(FluxIPAdapter, IsKnownByXLabsNames) {
  std::map<std::string, std::vector<int64_t>> shapes{
      {"ip_adapter_proj_model.proj.weight", {65536, 768}},
      {"double_blocks.0.processor.ip_adapter_double_stream_k_proj.weight", {3072, 4096}},
      {"double_blocks.1.processor.ip_adapter_double_stream_k_proj.weight", {3072, 4096}}};
  const Json config = flux_ip_adapter_config(shapes, "file");
  EXPECT_EQ(config["num_tokens"], 16);
  EXPECT_EQ(config["cross_attention_dim"], 4096);
  EXPECT_EQ(config["num_layers"], 2);
  EXPECT_EQ(config["inner_dim"], 3072);
  shapes["ip_adapter_proj_model.proj.weight"] = {16384, 768};
  EXPECT_EQ(flux_ip_adapter_config(shapes, "file")["num_tokens"], 4);
  EXPECT_TRUE(flux_ip_adapter_config({{"image_proj.proj.weight", {4, 4}}}, "file").is_null());
  shapes.erase("double_blocks.0.processor.ip_adapter_double_stream_k_proj.weight");
  EXPECT_THAT([&] { flux_ip_adapter_config(shapes, "file"); },
              ThrowsMessage<Unsupported>(HasSubstr("missing")));
}

}  // namespace
}  // namespace omnirt::testing
