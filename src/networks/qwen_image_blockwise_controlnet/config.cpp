#include "networks/qwen_image_blockwise_controlnet/config.hpp"

#include "nn/config_check.hpp"
#include "nn/patches.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr int64_t square = nn::patch_side * nn::patch_side;

}  // namespace

QwenImageBlockwiseControlNetConfig read_qwen_image_blockwise_config(const Json& json,
                                                                    const std::string& where) {
  auto config = read_config<QwenImageBlockwiseControlNetConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("num_layers", config.num_layers, 1, 256);
  check.range("in_dim", config.in_dim, square, 1 << 16);
  check.divisible("in_dim", config.in_dim, "the latents of a token", square);
  check.expect(config.additional_in_dim == 0 || config.additional_in_dim == square,
               "additional_in_dim", std::to_string(config.additional_in_dim),
               "a token has a mask of its 2x2 latents, or none");
  check.range("dim", config.dim, 1, 1 << 16);
  check.finish();
  return config;
}

Json qwen_image_blockwise_config_from_tensors(
    const std::map<std::string, std::vector<int64_t>>& all, const std::string&) {
  const TensorShapes shapes(all);
  if (!shapes.has("controlnet_blocks.0.x_rms.weight") || !shapes.has("img_in.weight")) return {};
  const int64_t in = shapes.size("img_in.weight", 1);
  const bool with_mask = in / square % 2 == 1;
  return {{"_class_name", "QwenImageBlockWiseControlNet"},
          {"num_layers", shapes.count("controlnet_blocks.")},
          {"in_dim", with_mask ? in - square : in},
          {"additional_in_dim", with_mask ? square : 0},
          {"dim", shapes.size("img_in.weight", 0)}};
}

}  // namespace omnirt
