#include "networks/qwen_image_blockwise_controlnet/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

constexpr double blockwise_eps = 1e-6;  // in the reference's code

struct BlockwiseInput {
  Tensor image_tokens;     // {B, L, D}: what the transformer's block made
  Tensor controlnet_cond;  // {B or 1, C, H, W}: latents; {B or 1, C + 1, H, W} with a mask

  static void visit(auto& self, auto& v) {
    v("image_tokens", self.image_tokens);
    v("controlnet_cond", self.controlnet_cond);
  }
};

}  // namespace

BlockwiseControlBlock::BlockwiseControlBlock(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name),
      x_rms(this, "x_rms", dim, blockwise_eps),
      y_rms(this, "y_rms", dim, blockwise_eps),
      input_proj(this, "input_proj", dim, dim),
      output_proj(this, "output_proj", dim, dim) {}

Tensor BlockwiseControlBlock::forward(Context& cx, const Tensor& tokens,
                                      const Tensor& control) const {
  return cx.segment(path(), [&] {
    const Tensor other = y_rms.forward(cx, control);
    const Tensor both = cx.ops().add(cx, {x_rms.forward(cx, tokens), other});
    return output_proj.forward(cx, input_proj.forward(cx, both, ops::Activation::gelu));
  });
}

QwenImageBlockwiseControlNet::QwenImageBlockwiseControlNet(
    const QwenImageBlockwiseControlNetConfig& config, Json json)
    : ControlNetwork(std::move(json)),
      img_in(this, "img_in", config.in_dim + config.additional_in_dim, config.dim),
      controlnet_blocks(this, "controlnet_blocks"),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) controlnet_blocks.add(config.dim);
}

nn::Metadata QwenImageBlockwiseControlNet::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"BlockWiseControlBlock"},
                                      .skip_layerwise_casting_patterns = {"rms"},
                                      .repeated_blocks = {"BlockWiseControlBlock"}});
}

int64_t QwenImageBlockwiseControlNet::in_channels() const {
  return config_.in_dim / (nn::patch_side * nn::patch_side);
}

// What stays the same through a run, the control image, is embedded once.
Tensor QwenImageBlockwiseControlNet::hint(Context& cx, const Values& inputs, size_t block) const {
  const auto input = nn::fill_inputs<BlockwiseInput>(cx, inputs);
  const Tensor control = cx.once(img_in.path(), input.controlnet_cond, [&] {
    const Tensor patches = nn::packed_patches(input.controlnet_cond);
    return img_in.forward(cx, nn::tokens_of(nn::in_form(cx, patches)));
  });
  return controlnet_blocks[block].forward(cx, nn::in_form(cx, input.image_tokens), control);
}

std::vector<nn::NetworkInput> QwenImageBlockwiseControlNet::inputs() const {
  return nn::input_names<BlockwiseInput>();
}

std::vector<nn::ControlNetwork::Residuals> QwenImageBlockwiseControlNet::residuals() const {
  return {{"controlnet_block_samples", controlnet_blocks.size()}};
}

const nn::NetworkInfo& qwen_image_blockwise_controlnet_info() {
  static const nn::NetworkInfo info{
      .class_name = "QwenImageBlockWiseControlNet",
      .make = nn::network_of<QwenImageBlockwiseControlNet, read_qwen_image_blockwise_config>,
      .summary = "a control image's way to what each block of Qwen-Image's transformer made",
      .weights_base = "model",
      .role = "controlnet",
      .from_tensors = {.signs = "DiffSynth-Studio's blockwise ControlNet of Qwen-Image "
                                "(controlnet_blocks.*.x_rms)",
                       .config = qwen_image_blockwise_config_from_tensors},
  };
  return info;
}

}  // namespace omnirt
