#include "networks/flux_transformer_2d_model/model.hpp"

#include <utility>

#include "networks/flux_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

// Of all IP-Adapters, for one of the blocks.
nn::PromptingImages images_for(const FluxInput& input, size_t block, size_t blocks) {
  nn::PromptingImages images;
  for (size_t i = block; i < input.ip_adapter_keys.size(); i += blocks) {
    images.keys.push_back(input.ip_adapter_keys[i]);
    images.values.push_back(input.ip_adapter_values.at(i));
  }
  return images;
}

}  // namespace

FluxTransformer2DModel::FluxTransformer2DModel(const FluxTransformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
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
nn::TextAndImage FluxTransformer2DModel::embedded(Context& cx, const FluxInput& input,
                                                  const Tensor& latents) const {
  auto once = [&](const nn::Linear& embedder, const Tensor& x) {
    return cx.once(embedder.path(), x, [&] { return embedder.forward(cx, nn::in_form(cx, x)); });
  };
  nn::TextAndImage streams;
  streams.text = once(context_embedder, input.encoder_hidden_states);
  streams.image = x_embedder.forward(cx, nn::tokens_of(nn::in_form(cx, latents)));
  if (!input.reference_latents) return streams;
  Tensor references = once(x_embedder, *input.reference_latents);
  streams.image = cx.ops().concat(cx, {streams.image, references});
  return streams;
}

// h {B, T + L, D}, of which the first `texts` are the text's; the others of the result.
Tensor FluxTransformer2DModel::through_single_blocks(Context& cx, const FluxInput& input, Tensor h,
                                                     int64_t texts,
                                                     const nn::FluxContext& context) const {
  const int64_t images = h.size(1) - texts;
  const auto& residuals = input.controlnet_single_block_samples;
  for (size_t i = 0; i < single_transformer_blocks.size(); ++i) {
    h = single_transformer_blocks[i].forward(cx, h, context);
    if (residuals.empty()) continue;
    Tensor image = nn::with_residual(cx, h.narrow(1, texts, images), residuals, i);
    Tensor text = h.narrow(1, 0, texts);
    h = cx.ops().concat(cx, {text, image});
  }
  return h.narrow(1, texts, images);
}

// Of the image's tokens and the reference images', {B, L, D}.
Tensor FluxTransformer2DModel::through_blocks(Context& cx, const FluxInput& input,
                                              nn::TextAndImage streams,
                                              const nn::FluxContext& context) const {
  const size_t blocks = transformer_blocks.size();
  auto one = [&](size_t i) {
    streams = transformer_blocks[i].forward(cx, streams, context, images_for(input, i, blocks));
    streams.image = nn::with_residual(cx, streams.image, input.controlnet_block_samples, i);
  };
  auto first = [&] {
    if (!transformer_blocks.empty()) one(0);
    return streams.image;
  };
  auto rest = [&] {
    for (size_t i = 1; i < transformer_blocks.size(); ++i) one(i);
    Tensor h = cx.ops().concat(cx, {streams.text, streams.image});
    const int64_t texts = streams.text.size(1);
    streams = {};
    return through_single_blocks(cx, input, std::move(h), texts, context);
  };
  const Tensor hidden = cx.block_cache() ? streams.image : Tensor();
  return cx.cached_blocks("blocks", hidden, first, rest);
}

Tensor FluxTransformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<FluxInput>(cx, inputs);
  int64_t rows = input.sample.size(0);
  ensure(input.encoder_hidden_states.size(0) == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.size(0), rows);
  ensure(input.sample.size(2) % nn::patch_side == 0 && input.sample.size(3) % nn::patch_side == 0,
         "latents of {}x{} are no whole tokens", input.sample.size(3), input.sample.size(2));
  Tensor latents = nn::packed_patches(input.sample);
  int64_t height = latents.size(2), width = latents.size(3);
  const Tensor* references = input.reference_ids ? &*input.reference_ids : nullptr;
  const Tensor made = cx.predicted_output(proj_out.path(), [&] {
    Tensor timestep = input.timestep.to(at::kFloat).expand({rows});
    Tensor temb = time_text_embed.forward(cx, timestep, input.guidance ? &*input.guidance : nullptr,
                                          input.pooled_projections);
    nn::FluxContext context{.activated = cx.ops().activate(cx, {temb, ops::Activation::silu}),
                            .rotary = nn::flux_rotary(cx, config_.axes_dims_rope,
                                                      {.text = input.encoder_hidden_states,
                                                       .texts = input.encoder_hidden_states.size(1),
                                                       .height = height,
                                                       .width = width,
                                                       .reference_ids = references})};
    Tensor h = through_blocks(cx, input, embedded(cx, input, latents), context);
    h = norm_out.forward(cx, h.narrow(1, 0, height * width), context.activated);
    return proj_out.forward(cx, h);
  });
  return nn::unpacked_patches(nn::image_of(made, height, width));
}

std::vector<nn::NetworkInput> FluxTransformer2DModel::inputs() const {
  auto names = nn::input_names<FluxInput>();
  std::erase_if(names, [&](const nn::NetworkInput& input) {
    return !config_.guidance_embeds && input.name == "guidance";
  });
  return names;
}

std::vector<nn::ResidualSite> FluxTransformer2DModel::residual_sites() const {
  const int64_t dim = config_.inner_dim();
  return {{"controlnet_block_samples", transformer_blocks.size(), dim},
          {"controlnet_single_block_samples", single_transformer_blocks.size(), dim}};
}

const nn::NetworkInfo& flux_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "FluxTransformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<FluxTransformer2DModel>(
            read_flux_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of FLUX.1",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "FLUX.1's transformer (double_blocks.*.img_mod, vector_in)",
                       .config = flux_original_config,
                       .layout = [](const auto&) { return std::string("flux"); },
                       .prefixes = flux_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
