// ControlNets of Z-Image together with the transformer whose parts they compute with, against
// diffusers (tools/goldens/z_image_controlnets.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/support.hpp"
#include "networks/z_image_controlnet_model/model.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// fp32 on both sides; what is left comes from the order of additions.
constexpr double hint_tolerance = 1e-5;
constexpr const char* hint_input = "controlnet_block_samples";

std::vector<Value> scaled(std::vector<Value> list, double by) {
  for (Value& each : list) each = each.tensor() * by;
  return list;
}

struct Pair {
  LoadedNetwork transformer, controlnet;
  const ZImageTransformer2DModel& model() const {
    return transformer.as<ZImageTransformer2DModel>();
  }
  const ZImageControlNetModel& control() const { return controlnet.as<ZImageControlNetModel>(); }
};

// As a run's block asks them, one after the other.
std::vector<Value> hints_of(const Pair& pair, const Values& asked, const Tensor& cond,
                            double scale) {
  Context of_model = pair.transformer.context(), of_control = pair.controlnet.context();
  Values lent = pair.model().lent(of_model, asked);
  lent["controlnet_cond"] = {cond};
  Values looked = pair.control().refine(of_control, lent);
  lent["context"] = looked.at("context");
  if (looked.contains("hints")) lent["hints"] = scaled(looked.at("hints"), scale);
  lent["image"] = {pair.model().refined(of_model, lent)};
  return scaled(pair.control().control(of_control, lent).at(hint_input), scale);
}

void expect_reference(const Pair& pair, const Tensors& golden) {
  Values asked;
  for (const char* name : {"sample", "timestep", "encoder_hidden_states"})
    asked[name] = {golden.at(std::string("in.") + name)};
  const std::vector<Value> hints = hints_of(pair, asked, golden.at("in.controlnet_cond"),
                                            golden.at("in.conditioning_scale").item<double>());
  size_t made = 0;
  for (size_t place = 0; place < hints.size(); ++place) {
    const Tensor& hint = hints[place].tensor();
    auto expected = golden.find("out." + std::to_string(place));
    ASSERT_EQ(hint.size(1) != 0, expected != golden.end()) << place;
    if (expected == golden.end()) continue;
    ++made;
    EXPECT_LT(difference(hint, expected->second), hint_tolerance) << place;
  }
  EXPECT_EQ(made, pair.control().control_layers.size());
  asked[hint_input] = hints;
  Context cx = pair.transformer.context();
  EXPECT_LT(difference(pair.model().predict(cx, asked), golden.at("out.sample")), hint_tolerance);
}

TEST(ZImageControlNets, GiveTheReferencesHintsAndPredictions) {
  const std::vector<std::string> names = cases("z_image_controlnet");
  ASSERT_EQ(names.size(), 3U);
  for (const std::string& name : names) {
    for (const bool channels_last : {false, true}) {
      const ComputeForm form{at::kFloat, channels_last};
      const Pair pair{load_case("z_image_transformer", form), load_case(name, form)};
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file);
        expect_reference(pair, golden(name, file));
      }
    }
  }
}

TEST(ZImageControlNets, RefuseConfigsThatNoModelHas) {
  auto made = [](const Json& more) {
    Json config = {{"control_layers_places", {0, 2}},
                   {"control_in_dim", 9},
                   {"control_refiner_layers_places", {0, 1}},
                   {"add_control_noise_refiner", "control_noise_refiner"},
                   {"dim", 36},
                   {"n_heads", 3}};
    config.update(more);
    return make<ZImageControlNetModel>(z_image_controlnet_model_info(), config);
  };
  EXPECT_EQ(made(Json::object())->least_layers(), 3);
  EXPECT_EQ(made(Json::object())->least_refiner_layers(), 2);
  EXPECT_EQ(made({{"add_control_noise_refiner", nullptr}})->least_refiner_layers(), 0);
  auto refused = [&](const Json& more, const char* why) {
    EXPECT_THAT([&] { made(more); }, ThrowsMessage<Unsupported>(HasSubstr(why))) << more;
  };
  refused({{"control_layers_places", {1, 2}}}, "control_layers_places");
  refused({{"control_layers_places", {0, 2, 2}}}, "control_layers_places");
  refused({{"control_layers_places", {0, 1000000}}}, "control_layers_places");
  refused({{"control_layers_places", Json::array()}}, "control_layers_places");
  refused({{"control_refiner_layers_places", {0, 1, 2}}}, "2 blocks hint");
  refused({{"control_refiner_layers_places", nullptr}}, "control_refiner_layers_places");
  refused({{"add_control_noise_refiner", "both"}}, "add_control_noise_refiner");
  refused({{"control_in_dim", 0}}, "control_in_dim");
}

}  // namespace
}  // namespace omnirt::testing
