#include "networks/flux2_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/flux2_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

Flux2Transformer2DModel::Flux2Transformer2DModel(const Flux2Transformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
      time_guidance_embed(this, "time_guidance_embed", config),
      double_stream_modulation_img(this, "double_stream_modulation_img", config.inner_dim(), 2),
      double_stream_modulation_txt(this, "double_stream_modulation_txt", config.inner_dim(), 2),
      single_stream_modulation(this, "single_stream_modulation", config.inner_dim(), 1),
      x_embedder(this, "x_embedder", config.in_channels, config.inner_dim(), false),
      context_embedder(this, "context_embedder", config.joint_attention_dim, config.inner_dim(),
                       false),
      transformer_blocks(this, "transformer_blocks"),
      single_transformer_blocks(this, "single_transformer_blocks"),
      norm_out(this, "norm_out", config),
      proj_out(this, "proj_out", config.inner_dim(), config.predicted_channels(), false),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
  for (int64_t i = 0; i < config.num_single_layers; ++i) single_transformer_blocks.add(config);
  set_blocks(transformer_blocks, single_transformer_blocks);
}

nn::Metadata Flux2Transformer2DModel::metadata() const {
  // The reference names pos_embed as well, which has no weights to cast.
  return nn::feature_metadata(
      *this, {.no_split_modules = {"Flux2TransformerBlock", "Flux2SingleTransformerBlock"},
              .skip_layerwise_casting_patterns = {"norm"},
              .repeated_blocks = {"Flux2TransformerBlock", "Flux2SingleTransformerBlock"}});
}

std::vector<nn::OriginalLayout> Flux2Transformer2DModel::original_layouts() const {
  return {flux2_original_layout()};
}

// Tokens as wide as the blocks are.
nn::TokenStream Flux2Transformer2DModel::embedded(Context& cx, const Flux2Input& input) const {
  nn::TokenStream streams;
  streams.text = context_embedder.forward_once(cx, input.encoder_hidden_states);
  Tensor tokens = nn::tokens_of(nn::in_form(cx, input.sample));
  streams.image = x_embedder.forward(cx, tokens);
  if (!input.reference_latents) return streams;
  Tensor references = x_embedder.forward_once(cx, *input.reference_latents);
  streams.image = cx.ops().concat(cx, {streams.image, references});
  return streams;
}

// The positions of all tokens, the text's, the image's and the reference images': once per run,
// text and size, for windows of an image may have several.
Tensor Flux2Transformer2DModel::rotary(Context& cx, const Flux2Input& input) const {
  const Tensor& text = input.encoder_hidden_states;
  int64_t height = input.sample.size(2), width = input.sample.size(3);
  return cx.once(fmt::format("rotary {}x{}", height, width), text, [&] {
    Tensor positions = cx.ops().token_positions(cx, {text, text.size(1), height, width});
    if (input.reference_ids) {
      Tensor ids = input.reference_ids->narrow(0, 0, 1);
      positions = cx.ops().concat(cx, {positions.unsqueeze(0), ids}).squeeze(0);
    }
    return nn::rope_table(cx, positions, config_.axes_dims_rope, config_.rope_theta);
  });
}

Tensor Flux2Transformer2DModel::activated(Context& cx, const Tensor& timestep,
                                          const Tensor* guidance) const {
  Tensor temb = time_guidance_embed.forward(cx, timestep, guidance);
  return cx.ops().activate(cx, {temb, ops::Activation::silu});
}

auto Flux2Transformer2DModel::enter(Context& cx, const Flux2Input& input) const -> Trunk {
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, 1);
  const int64_t height = input.sample.size(2), width = input.sample.size(3);
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  Tensor at_time = activated(cx, timestep, input.guidance ? &*input.guidance : nullptr);
  auto kept_tokens = references(cx, input);
  nn::TokenStream tokens = embedded(cx, input);
  const int64_t texts = tokens.text.size(1), images = tokens.image.size(1);
  Flux2Call call{.activated = at_time,
                 .image = double_stream_modulation_img.forward(cx, at_time),
                 .text = double_stream_modulation_txt.forward(cx, at_time),
                 .single = single_stream_modulation.forward(cx, at_time)[0],
                 .rotary = rotary(cx, input),
                 .references = std::move(kept_tokens),
                 .height = height,
                 .width = width};
  return {.tokens = std::move(tokens),
          .axis = {{texts, height * width}, {texts, images}},
          .call = std::move(call)};
}

nn::TokenStream Flux2Transformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                               const Flux2Call& call) const {
  const nn::KeysAndValues kept = call.references ? call.references->of(i) : nn::KeysAndValues();
  const size_t single = transformer_blocks.size();
  if (i < single)
    return transformer_blocks[i].forward(cx, x, call.image, call.text, call.rotary, kept);
  return {.image = single_transformer_blocks[i - single].forward(cx, x.image, call.single,
                                                                 call.rotary, kept)};
}

Tensor Flux2Transformer2DModel::leave(Context& cx, const Tensor& tokens,
                                      const Flux2Call& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.activated));
  return nn::image_of(made, call.height, call.width);
}

const nn::NetworkInfo& flux2_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Flux2Transformer2DModel",
      .make = nn::network_of<Flux2Transformer2DModel, read_flux2_transformer_2d_config>,
      .summary = "the diffusion transformer of FLUX.2",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs =
                           "FLUX.2's transformer (double_blocks.*, single_stream_modulation.*)",
                       .config = flux2_original_config,
                       .layout = [](const auto&) { return std::string("flux2"); },
                       .prefixes = flux2_original_prefixes()},
      .gguf = {{"double_blocks.0.", "flux"}},
      .marks = {{"double_stream_modulation_img.lin.weight", "a Flux 2 transformer"}},
  };
  return info;
}

}  // namespace omnirt
