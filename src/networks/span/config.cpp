#include "networks/span/config.hpp"

#include <fmt/format.h>

#include "nn/config_check.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr int64_t image_channels = 3;
constexpr int64_t most_upscale = 8;

// The factor whose square times three is `channels`; 0 where there is none.
int64_t upscale_of(int64_t channels) {
  for (int64_t factor = 1; factor <= most_upscale; ++factor) {
    if (image_channels * factor * factor == channels) return factor;
  }
  return 0;
}

}  // namespace

SpanConfig read_span_config(const Json& json, const std::string& where) {
  auto config = read_config<SpanConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("feature_channels", config.feature_channels, 1, 1 << 11);
  check.range("upscale", config.upscale, 1, most_upscale);
  check.finish();
  return config;
}

Json span_config(const std::map<std::string, std::vector<int64_t>>& all, const std::string& where) {
  const TensorShapes shapes(all);
  const std::string first = "conv_1.sk.weight", last = "upsampler.0.weight";
  if (!shapes.has(first) || !shapes.has(last) || !shapes.has("block_6.c3_r.sk.weight")) return {};
  int64_t channels = shapes.size(first, 1);
  if (channels != image_channels) {
    throw Unsupported({where, fmt::format("{} channels", channels),
                       "this SPAN takes images of other channels than red, green and blue", ""});
  }
  return {{"_class_name", "SPAN"},
          {"feature_channels", shapes.size(first, 0)},
          {"upscale", upscale_of(shapes.size(last, 0))},
          {"norm", !shapes.has("no_norm")}};
}

}  // namespace omnirt
