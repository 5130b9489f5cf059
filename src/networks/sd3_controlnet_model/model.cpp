#include "networks/sd3_controlnet_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr const char* sd3_samples = "block_controlnet_hidden_states";

// Of all blocks a text is made, as of a transformer's but its last.
SD3Transformer2DConfig without_last(SD3Transformer2DConfig config) {
  ++config.num_layers;
  return config;
}

SD3Transformer2DConfig of_single(SD3Transformer2DConfig config) {
  config.qk_norm.reset();
  return config;
}

SD3Transformer2DConfig of_control_image(const SD3ControlNetConfig& config) {
  SD3Transformer2DConfig made = config.transformer;
  made.in_channels += config.extra_conditioning_channels;
  return made;
}

}  // namespace

SD3ControlNetModel::SD3ControlNetModel(const SD3ControlNetConfig& config, Json json)
    : ControlNetwork(std::move(json)),
      time_text_embed(this, "time_text_embed",
                      {.pooled = config.transformer.pooled_projection_dim,
                       .out = config.transformer.inner_dim()}),
      transformer_blocks(this, "transformer_blocks"),
      controlnet_blocks(this, "controlnet_blocks"),
      pos_embed_input(this, "pos_embed_input", of_control_image(config), /*positions=*/false),
      config_(config) {
  const SD3Transformer2DConfig &blocks = config.transformer, joint = without_last(blocks),
                               single = of_single(blocks);
  const int64_t dim = blocks.inner_dim();
  if (config.use_pos_embed)
    pos_embed.emplace(this, "pos_embed", blocks, config.pos_embed_type.has_value());
  if (config.reads_text())
    context_embedder.emplace(this, "context_embedder", *config.joint_attention_dim, dim);
  for (int64_t i = 0; i < blocks.num_layers; ++i) {
    if (config.reads_text())
      transformer_blocks.add<nn::SD3TransformerBlock>(joint, i);
    else
      transformer_blocks.add<nn::SD3SingleTransformerBlock>(single);
    controlnet_blocks.add(dim, dim);
  }
}

nn::Metadata SD3ControlNetModel::metadata() const {
  const char* block = config_.reads_text() ? "JointTransformerBlock" : "SD3SingleTransformerBlock";
  return nn::feature_metadata(*this, {.no_split_modules = {block},
                                      .skip_layerwise_casting_patterns = {"pos_embed", "norm"},
                                      .repeated_blocks = {block}});
}

// The latents' tokens with those of the control image, which are made once per run.
Tensor SD3ControlNetModel::image(Context& cx, const SD3ControlInput& input) const {
  const Tensor& cond = input.controlnet_cond;
  Tensor control = cx.once(pos_embed_input.path(), cond, [&] {
    return pos_embed_input.forward(cx, nn::in_form(cx, cond), cond);
  });
  if (pos_embed) {
    ensure(input.sample.has_value(), "a ControlNet of Stable Diffusion 3 wants latents");
    Tensor tokens = pos_embed->forward(cx, nn::in_form(cx, *input.sample), cond);
    return cx.ops().add(cx, {tokens, control});
  }
  ensure(input.image_tokens.has_value(), "a ControlNet without positions wants the model's tokens");
  Tensor tokens = nn::in_form(cx, *input.image_tokens);
  return cx.ops().add(cx, {tokens, control});
}

Tensor SD3ControlNetModel::activated(Context& cx, const SD3ControlInput& input,
                                     int64_t rows) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({rows});
  Tensor pooled = input.pooled_projections;
  // The pipeline for inpainting gives it none either (reference:
  // StableDiffusion3ControlNetInpaintingPipeline).
  if (config_.force_zeros_for_pooled_projection || reads_mask()) {
    pooled = cx.once("no pooled projections", pooled, [&] {
      return cx.ops().affine(cx, {input.pooled_projections, 0.0, 0.0});
    });
  }
  Tensor temb = time_text_embed.forward(cx, timestep, nullptr, pooled);
  return cx.ops().activate(cx, {temb, ops::Activation::silu});
}

Values SD3ControlNetModel::control(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<SD3ControlInput>(cx, inputs);
  nn::TokenStream tokens{.image = image(cx, input)};
  const Tensor by = activated(cx, input, tokens.image.size(0));
  if (context_embedder) {
    ensure(input.encoder_hidden_states.has_value(), "a ControlNet that reads text is given none");
    const Tensor& text = *input.encoder_hidden_states;
    tokens.text = context_embedder->forward_once(cx, text);
  }
  auto block = [&](size_t i, const nn::TokenStream& x) -> nn::TokenStream {
    if (const auto* joint = dynamic_cast<const nn::SD3TransformerBlock*>(&transformer_blocks[i]))
      return joint->forward(cx, x, by);
    const auto& single = dynamic_cast<const nn::SD3SingleTransformerBlock&>(transformer_blocks[i]);
    return {.image = single.forward(cx, x.image, by)};
  };
  Values made;
  nn::run_blocks(cx, transformer_blocks, {0, transformer_blocks.size()}, std::move(tokens), block,
                 [&](size_t i, const nn::TokenStream& x) {
                   made[sd3_samples].emplace_back(controlnet_blocks[i].forward(cx, x.image));
                 });
  return made;
}

std::vector<nn::NetworkInput> SD3ControlNetModel::inputs() const {
  auto names = nn::input_names<SD3ControlInput>();
  std::erase_if(names, [&](const nn::NetworkInput& input) {
    return input.name == (pos_embed ? "image_tokens" : "sample") ||
           (!context_embedder && input.name == "encoder_hidden_states");
  });
  return names;
}

std::vector<nn::ControlNetwork::Residuals> SD3ControlNetModel::residuals() const {
  return {{sd3_samples, controlnet_blocks.size(), nn::ResidualOrder::even}};
}

int64_t SD3ControlNetModel::max_side() const {
  return pos_embed && config_.pos_embed_type ? config_.transformer.pos_embed_max_size : 0;
}

const nn::NetworkInfo& sd3_controlnet_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SD3ControlNetModel",
      .make = nn::network_of<SD3ControlNetModel, read_sd3_controlnet_config>,
      .summary = "a control image's way into Stable Diffusion 3's transformer",
      .weights_base = "diffusion_pytorch_model",
      .role = "controlnet",
  };
  return info;
}

}  // namespace omnirt
