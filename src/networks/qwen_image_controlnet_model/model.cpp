#include "networks/qwen_image_controlnet_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

constexpr const char* qwen_image_samples = "controlnet_block_samples";

}  // namespace

QwenImageControlNetModel::QwenImageControlNetModel(const QwenImageControlNetConfig& config,
                                                   Json json)
    : ControlNetwork(std::move(json)),
      time_text_embed(this, "time_text_embed", config.transformer.inner_dim()),
      txt_norm(this, "txt_norm", config.transformer.joint_attention_dim, 1e-6),
      img_in(this, "img_in", config.transformer.in_channels, config.transformer.inner_dim()),
      txt_in(this, "txt_in", config.transformer.joint_attention_dim,
             config.transformer.inner_dim()),
      transformer_blocks(this, "transformer_blocks"),
      controlnet_blocks(this, "controlnet_blocks"),
      controlnet_x_embedder(this, "controlnet_x_embedder",
                            config.transformer.in_channels + config.extra_condition_channels,
                            config.transformer.inner_dim()),
      config_(config.transformer),
      reads_mask_(config.extra_condition_channels != 0) {
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    transformer_blocks.add(config_);
    controlnet_blocks.add(config_.inner_dim(), config_.inner_dim());
  }
}

nn::Metadata QwenImageControlNetModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"QwenImageTransformerBlock"},
                                      .skip_layerwise_casting_patterns = {"norm"},
                                      .repeated_blocks = {"QwenImageTransformerBlock"}});
}

// Tokens as wide as the blocks are; what stays the same through a run, the text and the control
// image, is embedded once.
nn::TokenStream QwenImageControlNetModel::embedded(Context& cx,
                                                   const QwenImageControlInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  auto tokens = [&](const Tensor& latents) {
    return nn::tokens_of(nn::in_form(cx, nn::packed_patches(latents, config_.patch_size)));
  };
  Tensor control = cx.once(controlnet_x_embedder.path(), input.controlnet_cond, [&] {
    return controlnet_x_embedder.forward(cx, tokens(input.controlnet_cond));
  });
  Tensor image = img_in.forward(cx, tokens(input.sample));
  return {.text = cx.once(txt_in.path(), text,
                          [&] {
                            Tensor normed = txt_norm.forward(cx, nn::in_form(cx, text));
                            return txt_in.forward(cx, normed);
                          }),
          .image = cx.ops().add(cx, {image, control})};
}

Values QwenImageControlNetModel::control(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<QwenImageControlInput>(cx, inputs);
  const int64_t rows = input.sample.size(0), patch = config_.patch_size;
  const int64_t height = input.sample.size(2) / patch, width = input.sample.size(3) / patch;
  const Tensor timestep = input.timestep.to(at::kFloat).expand({rows});
  Tensor temb = time_text_embed.forward(cx, timestep);
  nn::TokenStream tokens = embedded(cx, input);
  const nn::QwenImageCall call{
      .activated = cx.ops().activate(cx, {temb, ops::Activation::silu}),
      .rotary = nn::qwen_image_rotary(
          cx, config_.axes_dims_rope,
          {.text = input.encoder_hidden_states, .height = height, .width = width}),
      .bias = input.encoder_attention_mask
                  ? nn::qwen_image_bias(cx, *input.encoder_attention_mask, tokens.image)
                  : Tensor(),
      .height = height,
      .width = width,
      .of_references = {}};
  Values made;
  nn::run_blocks(
      cx, transformer_blocks, {0, transformer_blocks.size()}, std::move(tokens),
      [&](size_t i, const nn::TokenStream& x) {
        return transformer_blocks[i].forward(cx, x, call);
      },
      [&](size_t i, const nn::TokenStream& x) {
        made[qwen_image_samples].emplace_back(controlnet_blocks[i].forward(cx, x.image));
      });
  return made;
}

std::vector<nn::ControlNetwork::Residuals> QwenImageControlNetModel::residuals() const {
  if (controlnet_blocks.empty()) return {};
  return {{qwen_image_samples, controlnet_blocks.size()}};
}

const nn::NetworkInfo& qwen_image_controlnet_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "QwenImageControlNetModel",
      .make = nn::network_of<QwenImageControlNetModel, read_qwen_image_controlnet_config>,
      .summary = "a control image's way into Qwen-Image's transformer",
      .weights_base = "diffusion_pytorch_model",
      .role = "controlnet",
  };
  return info;
}

}  // namespace omnirt
