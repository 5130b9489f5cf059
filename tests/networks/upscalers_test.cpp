#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/sharded.hpp"
#include "networks/rrdb_net/model.hpp"
#include "networks/span/model.hpp"
#include "networks/support.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"
#include "weights/tensor_shapes.hpp"

// Against spandrel, over files of random weights as upscalers are published
// (tools/goldens/upscalers.py).
namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

// fp32 on both sides; what is left is the order of additions. The largest seen is 1.1e-6.
constexpr double tolerance = 1e-5;

using Shapes = std::map<std::string, std::vector<int64_t>>;

fs::path folder() {
  return source_path("tests/goldens/upscalers");
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder()))
    all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

// What a file is recognised as: its config, and the layout of its names.
struct Told {
  const nn::NetworkInfo* info = nullptr;
  Json config;
  std::string prefix, layout;
};

Told told_by(const Shapes& shapes) {
  for (const nn::NetworkInfo* info : {&rrdb_net_info(), &span_info()}) {
    for (const std::string& prefix : info->from_tensors.prefixes) {
      Shapes inside;
      for (const auto& [name, shape] : shapes) {
        if (name.starts_with(prefix)) inside[name.substr(prefix.size())] = shape;
      }
      Json config = info->from_tensors.config(inside, "file");
      if (!config.is_null()) return {info, config, prefix, info->from_tensors.layout(inside)};
    }
  }
  return {};
}

Shapes shapes_of(const std::string& name) {
  return TensorShapes(io::TensorFiles::open_file(folder() / name / "model.safetensors")).all();
}

LoadedNetwork load(const std::string& name, ComputeForm form) {
  Told told = told_by(shapes_of(name));
  LoadedNetwork loaded;
  loaded.network = told.info->make(told.config, name);
  auto store = open_original_weights(
      io::TensorFiles::open_file(folder() / name / "model.safetensors"), *loaded.network,
      original_layout(*loaded.network, told.layout), told.prefix, name);
  loaded.binding = bind_weights(*store, *loaded.network, form);
  return loaded;
}

class Upscalers : public ::testing::TestWithParam<std::string> {};

TEST_P(Upscalers, GiveTheReferencesImage) {
  Tensors golden = read_tensors(folder() / GetParam() / "golden.safetensors");
  for (bool channels_last : {false, true}) {
    LoadedNetwork loaded = load(GetParam(), {at::kFloat, channels_last});
    Context cx = loaded.context();
    Tensor made = loaded.as<nn::Upscaler>().upscale(cx, golden.at("in.image"));
    EXPECT_LT(difference(made, golden.at("out.image")), tolerance) << channels_last;
  }
}

TEST_P(Upscalers, HaveTheSameSizesInADryForward) {
  LoadedNetwork loaded = load(GetParam(), {at::kFloat, true});
  Tensors golden = read_tensors(folder() / GetParam() / "golden.safetensors");
  Context cx = loaded.context({.dry = true});
  EXPECT_EQ(loaded.as<nn::Upscaler>().upscale(cx, golden.at("in.image")).sizes(),
            golden.at("out.image").sizes());
}

INSTANTIATE_TEST_SUITE_P(Goldens, Upscalers, ::testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(UpscalerFiles, SayWhatTheyAreByNamesAndShapes) {
  auto told = [](const std::string& name) {
    Told made = told_by(shapes_of(name));
    return std::tuple{made.config, made.prefix, made.layout};
  };
  auto rrdb = [](int64_t blocks, int64_t doublings, int64_t unshuffle) {
    return Json{{"_class_name", "RRDBNet"},  {"num_feat", 8},
                {"num_block", blocks},       {"num_grow_ch", 4},
                {"num_upsample", doublings}, {"unshuffle", unshuffle}};
  };
  EXPECT_EQ(told("rrdb_x4"), std::tuple(rrdb(2, 2, 1), "", "basicsr"));
  EXPECT_EQ(told("rrdb_x2plus"), std::tuple(rrdb(1, 2, 2), "", "basicsr"));
  EXPECT_EQ(told("rrdb_x1"), std::tuple(rrdb(1, 2, 4), "", "basicsr"));
  EXPECT_EQ(told("rrdb_six_blocks_fp16"), std::tuple(rrdb(6, 2, 1), "params_ema.", "basicsr"));
  EXPECT_EQ(told("rrdb_old_x2"), std::tuple(rrdb(1, 1, 1), "", "esrgan"));
  EXPECT_EQ(told("rrdb_old_x8"), std::tuple(rrdb(1, 3, 1), "", "esrgan"));
  EXPECT_EQ(told("rrdb_bsrgan"), std::tuple(rrdb(2, 2, 1), "", "bsrgan"));
  auto span = [](int64_t upscale, bool norm) {
    return Json{
        {"_class_name", "SPAN"}, {"feature_channels", 8}, {"upscale", upscale}, {"norm", norm}};
  };
  EXPECT_EQ(told("span_x4"), std::tuple(span(4, true), "", "span"));
  EXPECT_EQ(told("span_x2_no_norm"), std::tuple(span(2, false), "params.", "span"));
}

std::string refusal_of(Shapes shapes) {
  try {
    Told told = told_by(shapes);
    told.info->make(told.config, "file");
  } catch (const InvalidRequest& refused) {
    return refused.findings().front().message;
  }
  return "";
}

TEST(UpscalerFiles, OfOtherKindsAreRefusedByName) {
  Shapes plus = shapes_of("rrdb_old_x4");
  plus["model.1.sub.0.RDB1.conv1x1.weight"] = {4, 8, 1, 1};
  EXPECT_EQ(refusal_of(plus), "this is an ESRGAN+, whose blocks have convolutions of their own");
  Shapes gray = shapes_of("rrdb_x4");
  gray["conv_first.weight"] = {8, 1, 3, 3};
  EXPECT_EQ(refusal_of(gray),
            "the network takes and gives RGB images, or squares of 2x2 or 4x4 of their pixels");
  Shapes four = shapes_of("span_x4");
  four["conv_1.sk.weight"] = {8, 4, 1, 1};
  EXPECT_EQ(refusal_of(four), "this SPAN takes images of other channels than red, green and blue");
}

TEST(UpscalerFiles, OfSizesBeyondReasonAreRefused) {
  for (auto [key, value] : {std::pair{"num_feat", int64_t{1} << 40},
                            {"num_block", int64_t{100000}},
                            {"num_grow_ch", int64_t{0}},
                            {"num_upsample", int64_t{5}}}) {
    Json config = told_by(shapes_of("rrdb_x4")).config;
    config[key] = value;
    EXPECT_THROW(rrdb_net_info().make(config, "file"), Unsupported) << key;
  }
  for (auto [key, value] : {std::pair{"feature_channels", int64_t{1} << 40},
                            {"upscale", int64_t{0}},
                            {"upscale", int64_t{9}}}) {
    Json config = told_by(shapes_of("span_x4")).config;
    config[key] = value;
    EXPECT_THROW(span_info().make(config, "file"), Unsupported) << key;
  }
}

}  // namespace
}  // namespace omnirt::testing
