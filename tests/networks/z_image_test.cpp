// Z-Image's transformer against diffusers, over tiny random checkpoints (tools/goldens/z_image.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/support.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides. The reference rounds angles to fp32 before it takes their cosines, here they
// are fp64: at position 70 an angle differs by 4e-6. The rest is the order of additions.
constexpr double z_image_tolerance = 3e-5;

Tensor z_image_prediction(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
}

TEST(ZImageTransformer2DModel, GivesTheReferencesPrediction) {
  for (const std::string& name : cases("z_image_transformer")) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        Tensors tensors = golden(name, file);
        std::vector<OpRecord> real_trace, dry_trace;
        Context real = loaded.context({.trace = &real_trace});
        Context dry = loaded.context({.dry = true, .trace = &dry_trace});
        Tensor made = z_image_prediction(real, loaded, tensors);
        EXPECT_LT(difference(made, tensors.at("out.sample")), z_image_tolerance);
        EXPECT_EQ(z_image_prediction(dry, loaded, tensors).sizes(), made.sizes());
        ASSERT_EQ(dry_trace.size(), real_trace.size());
        for (size_t i = 0; i < dry_trace.size(); ++i)
          EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
      }
    }
  }
}

// A text's tokens alone count; texts are filled up to a multiple of 32 tokens.
TEST(ZImageTransformer2DModel, FillsTextsUp) {
  EXPECT_EQ(ZImageTransformer2DModel::padded(1), 32);
  EXPECT_EQ(ZImageTransformer2DModel::padded(32), 32);
  EXPECT_EQ(ZImageTransformer2DModel::padded(33), 64);
}

TEST(ZImageTransformer2DModel, RefusesWhatThePipelinesDoNotKnow) {
  auto refused = [](const Json& values) {
    return
        [values] { make<ZImageTransformer2DModel>(z_image_transformer_2d_model_info(), values); };
  };
  EXPECT_THAT(refused({{"axes_dims", {64, 64}}}), ThrowsMessage<Unsupported>(HasSubstr("3 axes")));
  EXPECT_THAT(refused({{"axes_dims", {32, 48, 40}}}),
              ThrowsMessage<Unsupported>(HasSubstr("128 wide")));
  EXPECT_THAT(refused({{"axes_dims", {31, 49, 48}}}),
              ThrowsMessage<Unsupported>(HasSubstr("turn together")));
  EXPECT_THAT(refused({{"all_patch_size", {2, 4}}}),
              ThrowsMessage<Unsupported>(HasSubstr("all_patch_size")));
  EXPECT_THAT(refused({{"siglip_feat_dim", 0}}),
              ThrowsMessage<Unsupported>(HasSubstr("siglip_feat_dim")));
  EXPECT_THAT(refused({{"dim", 3841}}), ThrowsMessage<Unsupported>(HasSubstr("n_heads")));
}

}  // namespace
}  // namespace omnirt::testing
