// Z-Image Omni's networks against diffusers and transformers, over tiny random checkpoints
// (tools/goldens/z_image_omni.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "blocks/siglip2_image.hpp"
#include "io/image.hpp"
#include "networks/siglip2_vision_model/model.hpp"
#include "networks/support.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"

namespace omnirt::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double omni_tolerance = 1e-5;

template <class Call>
void expect_as_dry(const LoadedNetwork& loaded, const Call& run, const Tensor& expected) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  EXPECT_LT(difference(run(real), expected), omni_tolerance);
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  EXPECT_EQ(run(dry).sizes(), expected.sizes());
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

// What the pixels' patches and their places are does not need the pixels.
Siglip2Image siglip2_input(const Siglip2VisionConfig& config, const Tensors& t) {
  const Tensor shape = t.at("in.shape");
  const int64_t patch = config.patch_size;
  const auto rows = shape[0].item<int64_t>(), columns = shape[1].item<int64_t>();
  Tensor pixels = t.at("in.patches")
                      .view({rows, columns, patch, patch, 3})
                      .permute({4, 0, 2, 1, 3})
                      .reshape({1, 3, rows * patch, columns * patch});
  return blocks::siglip2_image(config, pixels);
}

TEST(Siglip2VisionModel, GivesTheReferencesStates) {
  for (const std::string& name : cases("siglip2_vision")) {
    const LoadedNetwork loaded = load_case(name);
    const auto& encoder = loaded.as<Siglip2VisionModel>();
    for (const std::string& file : files(name, "golden")) {
      SCOPED_TRACE(name + "/" + file);
      const Tensors t = golden(name, file);
      const Siglip2Image image = siglip2_input(encoder.config(), t);
      EXPECT_TRUE(image.patches.equal(t.at("in.patches")));
      expect_as_dry(
          loaded, [&](Context& cx) { return encoder.forward(cx, image); }, t.at("out.states"));
    }
  }
}

TEST(Siglip2ImageProcessor, MakesThePatchesOfTheReference) {
  const Tensors t = golden("siglip2_vision", "processed");
  const Tensor sizes = t.at("in.sizes"), patches = t.at("out.patches");
  for (int64_t i = 0; i < sizes.size(0); ++i) {
    const auto [rows, columns] =
        blocks::siglip2_patches(sizes[i][0].item<int64_t>(), sizes[i][1].item<int64_t>(), 16, 256);
    EXPECT_EQ(rows, patches[i][0].item<int64_t>()) << sizes[i];
    EXPECT_EQ(columns, patches[i][1].item<int64_t>()) << sizes[i];
  }
  const fs::path folder = source_path("tests/goldens/pipelines");
  const auto processor = blocks::read_siglip2_image_processor(
      read_json(folder / "z_image_omni/model/siglip_processor/preprocessor_config.json"), "here");
  const Tensor pixels = processor.pixel_values(io::read_image(folder / "inputs/image_88x72.png"));
  Siglip2VisionConfig config;
  config.patch_size = processor.patch_size;
  EXPECT_LT(difference(blocks::siglip2_image(config, pixels).patches, t.at("out.image")), 1e-6);
}

TEST(Siglip2ImageProcessor, RefusesWhatItCannotDo) {
  auto refused = [](const Json& json) {
    return [json] { blocks::read_siglip2_image_processor(json, "here"); };
  };
  EXPECT_THAT(refused({{"do_resize", false}}), ThrowsMessage<Unsupported>(HasSubstr("do_resize")));
  EXPECT_THAT(refused({{"patch_size", "16"}}),
              ThrowsMessage<Unsupported>(HasSubstr("not a whole number")));
  EXPECT_THAT(refused({{"max_num_patches", 0}}),
              ThrowsMessage<Unsupported>(HasSubstr("max_num_patches")));
  EXPECT_THAT(refused({{"crops", 2}}), ThrowsMessage<Unsupported>(HasSubstr("crops")));
}

TEST(Siglip2VisionModel, RefusesPositionsThatAreNoSquare) {
  EXPECT_THAT(
      [] {
        make<Siglip2VisionModel>(siglip2_vision_model_info(), {{"num_patches", 12}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("num_patches")));
}

TEST(ZImageOmni, GivesTheReferencesPrediction) {
  for (const std::string& name : cases("z_image_omni_transformer")) {
    const LoadedNetwork loaded = load_case(name);
    for (const std::string& file : files(name, "golden")) {
      SCOPED_TRACE(name + "/" + file);
      const Tensors t = golden(name, file);
      expect_as_dry(
          loaded,
          [&](Context& cx) { return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(t)); },
          t.at("out.sample"));
    }
  }
}

// What is made of texts, and of what SigLIP2 sees, no step changes.
TEST(ZImageOmni, RefinesTextsAndFeaturesOncePerRun) {
  const LoadedNetwork loaded = load_case("z_image_omni_transformer");
  const Tensors t = golden("z_image_omni_transformer", "golden_two");
  Values inputs;
  for (const auto& [name, list] : inputs_of(t)) {
    const bool of_step = name == "sample" || name == "timestep";
    for (const Value& value : list)
      inputs[name].emplace_back(value.tensor(), of_step ? Life::step : Life::run);
  }
  RunState state;
  auto attentions = [&] {
    std::vector<OpRecord> trace;
    Context cx = loaded.context({.state = &state, .trace = &trace});
    for (const auto& [name, list] : inputs)
      for (const Value& value : list) cx.know(value);
    EXPECT_LT(difference(loaded.as<nn::DenoiserNetwork>().predict(cx, inputs), t.at("out.sample")),
              omni_tolerance);
    return std::ranges::count(trace, std::string("attention"), &OpRecord::op);
  };
  const int64_t refiners = 2, layers = 3;
  EXPECT_EQ(attentions(), 3 * refiners + layers);
  EXPECT_EQ(attentions(), refiners + layers);
}

TEST(ZImageOmni, HasInputsForImagesWhereItReadsSiglip) {
  auto names = [](const Json& values) {
    std::vector<std::string> all;
    auto made = make<ZImageTransformer2DModel>(z_image_transformer_2d_model_info(), values);
    for (const auto& input : made->inputs()) all.push_back(input.name);
    return all;
  };
  Json small = {{"n_layers", 1}, {"n_refiner_layers", 1}};
  EXPECT_THAT(names(small), ::testing::Not(::testing::Contains("siglip_features")));
  small["siglip_feat_dim"] = 8;
  EXPECT_THAT(names(small), ::testing::Contains("siglip_features"));
}

}  // namespace
}  // namespace omnirt::testing
