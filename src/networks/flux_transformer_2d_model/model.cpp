#include "networks/flux_transformer_2d_model/model.hpp"

#include <utility>

#include "networks/flux_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {
// By block, of all IP-Adapters.
std::vector<nn::PromptingImages> images_by_block(const FluxInput& input, size_t blocks) {
  if (blocks == 0 || input.ip_adapter_keys.empty()) return {};
  std::vector<nn::PromptingImages> images(blocks);
  for (size_t i = 0; i < input.ip_adapter_keys.size(); ++i) {
    images[i % blocks].keys.push_back(input.ip_adapter_keys[i]);
    images[i % blocks].values.push_back(input.ip_adapter_values.at(i));
  }
  return images;
}

}  // namespace

FluxTransformer2DModel::FluxTransformer2DModel(const FluxTransformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
      time_text_embed(this, "time_text_embed",
                      {.pooled = config.pooled_projection_dim,
                       .out = config.inner_dim(),
                       .guidance = config.guidance_embeds}),
      context_embedder(this, "context_embedder", config.joint_attention_dim, config.inner_dim()),
      x_embedder(this, "x_embedder", config.in_channels, config.inner_dim()),
      transformer_blocks(this, "transformer_blocks"),
      single_transformer_blocks(this, "single_transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim(), FluxTransformer2DConfig::eps),
      proj_out(this, "proj_out", config.inner_dim(), config.predicted_channels()),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
  for (int64_t i = 0; i < config.num_single_layers; ++i) single_transformer_blocks.add(config);
  set_blocks(transformer_blocks, single_transformer_blocks);
}

nn::Metadata FluxTransformer2DModel::metadata() const {
  // The reference names pos_embed as well, which has no weights to cast.
  return nn::feature_metadata(
      *this, {.no_split_modules = {"FluxTransformerBlock", "FluxSingleTransformerBlock"},
              .skip_layerwise_casting_patterns = {"norm"},
              .repeated_blocks = {"FluxTransformerBlock", "FluxSingleTransformerBlock"}});
}

std::vector<nn::OriginalLayout> FluxTransformer2DModel::original_layouts() const {
  return {flux_original_layout()};
}

nn::AdapterNames FluxTransformer2DModel::adapter_names() const {
  return {.layouts = {flux_xlabs_layout()}};
}

// Tokens as wide as the blocks are. What stays the same through a run, the text and the reference
// images, is embedded once.
nn::TokenStream FluxTransformer2DModel::embedded(Context& cx, const FluxInput& input,
                                                 const Tensor& latents) const {
  nn::TokenStream streams;
  streams.text = context_embedder.forward_once(cx, input.encoder_hidden_states);
  streams.image = x_embedder.forward(cx, nn::tokens_of(nn::in_form(cx, latents)));
  if (!input.reference_latents) return streams;
  Tensor references = x_embedder.forward_once(cx, *input.reference_latents);
  streams.image = cx.ops().concat(cx, {streams.image, references});
  return streams;
}

nn::FluxContext FluxTransformer2DModel::context(Context& cx, const FluxInput& input,
                                                const Tensor& latents) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  Tensor temb = time_text_embed.forward(cx, timestep, input.guidance ? &*input.guidance : nullptr,
                                        input.pooled_projections);
  return {.activated = cx.ops().activate(cx, {temb, ops::Activation::silu}),
          .rotary = nn::flux_rotary(
              cx, config_.axes_dims_rope,
              {.text = input.encoder_hidden_states,
               .texts = input.encoder_hidden_states.size(1),
               .height = latents.size(2),
               .width = latents.size(3),
               .reference_ids = input.reference_ids ? &*input.reference_ids : nullptr})};
}

auto FluxTransformer2DModel::enter(Context& cx, const FluxInput& input) const -> Trunk {
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, nn::patch_side);
  const Tensor latents = nn::packed_patches(input.sample);
  const int64_t height = latents.size(2), width = latents.size(3);
  nn::FluxContext shared = context(cx, input, latents);
  nn::TokenStream tokens = embedded(cx, input, latents);
  const int64_t texts = tokens.text.size(1), images = tokens.image.size(1);
  return {.tokens = std::move(tokens),
          .axis = {{texts, height * width}, {texts, images}},
          .call = {std::move(shared), images_by_block(input, transformer_blocks.size()), height,
                   width}};
}

nn::TokenStream FluxTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                              const FluxCall& call) const {
  const size_t single = transformer_blocks.size();
  if (i >= single)
    return {.image = single_transformer_blocks[i - single].forward(cx, x.image, call.shared)};
  return transformer_blocks[i].forward(
      cx, x, call.shared, call.images.empty() ? nn::PromptingImages() : call.images[i]);
}

Tensor FluxTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                     const FluxCall& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.shared.activated));
  return nn::unpacked_patches(nn::image_of(made, call.height, call.width));
}

std::vector<nn::ResidualSite> FluxTransformer2DModel::residual_sites() const {
  const int64_t dim = config_.inner_dim();
  return {{"controlnet_block_samples", transformer_blocks.size(), dim},
          {.input = "controlnet_single_block_samples",
           .blocks = single_transformer_blocks.size(),
           .dim = dim,
           .first_block = transformer_blocks.size()}};
}

const nn::NetworkInfo& flux_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "FluxTransformer2DModel",
      .make = nn::network_of<FluxTransformer2DModel, read_flux_transformer_2d_config>,
      .summary = "the diffusion transformer of FLUX.1",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "FLUX.1's transformer (double_blocks.*.img_mod, vector_in)",
                       .config = flux_original_config,
                       .layout = [](const auto&) { return std::string("flux"); },
                       .prefixes = flux_original_prefixes()},
      .gguf = {{"double_blocks.0.", "flux"}},
      .widening = nn::InputWidening{.key = "in_channels",
                                    .usual = 64,
                                    .made = "out_channels",
                                    .layer = "x_embedder",
                                    .original = "img_in"},
      .marks = {{"model.diffusion_model.double_blocks.0.img_attn.norm.key_norm.scale",
                 "a Flux transformer"},
                {"double_blocks.0.img_attn.norm.key_norm.scale", "a Flux transformer"}},
  };
  return info;
}

}  // namespace omnirt
