#include "networks/chroma_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include <utility>

#include "networks/chroma_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {
// Numbers as cosines and sines: {N} -> {N, dim}.
Tensor waves_of(Context& cx, const Tensor& numbers, int64_t dim) {
  return cx.ops().timestep_embedding(cx,
                                     {numbers, dim, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
}

// What is added to the scores of each query for each key: 1 between two tokens, 0 where either is
// padding. The reference hands its mask of ones and zeros on as numbers to be added, so that
// padding counts less, and is not left out.
Tensor score_bias(Context& cx, const Tensor& mask, const Tensor& image) {
  return cx.once(fmt::format("bias {}", image.size(1)), mask, [&] {
    Tensor first = image.select(2, 0);
    Tensor ones = cx.ops().affine(cx, {first, 0.0, 1.0});
    Tensor all = cx.ops().concat(cx, {nn::in_form(cx, mask), ones});
    const int64_t rows = all.size(0), tokens = all.size(1);
    Tensor queries = all.unsqueeze(2).expand({rows, tokens, tokens}), keys = all.unsqueeze(1);
    return cx.ops().gate(cx, {queries, keys}).unsqueeze(1);
  });
}

}  // namespace

ChromaTransformer2DModel::ChromaTransformer2DModel(const ChromaTransformer2DConfig& config,
                                                   Json json)
    : Transformer(std::move(json)),
      distilled_guidance_layer(this, "distilled_guidance_layer", config),
      context_embedder(this, "context_embedder", config.joint_attention_dim, config.inner_dim()),
      x_embedder(this, "x_embedder", config.in_channels, config.inner_dim()),
      transformer_blocks(this, "transformer_blocks"),
      single_transformer_blocks(this, "single_transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim(), FluxTransformer2DConfig::eps,
               /*affine=*/false),
      proj_out(this, "proj_out", config.inner_dim(), config.as_flux().predicted_channels()),
      config_(config) {
  const FluxTransformer2DConfig blocks = config.as_flux();
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(blocks);
  for (int64_t i = 0; i < config.num_single_layers; ++i) single_transformer_blocks.add(blocks);
  set_blocks(transformer_blocks, single_transformer_blocks);
}

nn::Metadata ChromaTransformer2DModel::metadata() const {
  // The reference names pos_embed as well, which has no weights to cast.
  return nn::feature_metadata(
      *this, {.no_split_modules = {"ChromaTransformerBlock", "ChromaSingleTransformerBlock"},
              .skip_layerwise_casting_patterns = {"norm"},
              .repeated_blocks = {"ChromaTransformerBlock", "ChromaSingleTransformerBlock"}});
}

std::vector<nn::OriginalLayout> ChromaTransformer2DModel::original_layouts() const {
  return {chroma_original_layout()};
}

int64_t ChromaTransformer2DModel::in_channels() const {
  return config_.in_channels / FluxTransformer2DConfig::latents_of_a_token;
}

int64_t ChromaTransformer2DModel::out_channels() const {
  return config_.as_flux().predicted_channels() / FluxTransformer2DConfig::latents_of_a_token;
}

// Of the timestep, of a guidance scale that is always 0, and of which modulation it is (diffusers
// ChromaCombinedTimestepTextProjEmbeddings).
Tensor ChromaTransformer2DModel::modulations(Context& cx, const ChromaInput& input) const {
  const int64_t count = config_.modulations(), dim = config_.approximator_num_channels / 4;
  Tensor timestep = input.timestep.tensor.to(at::kFloat);
  Tensor zero = cx.ops().affine(cx, {timestep, 0.0, 0.0});
  Tensor guidance = waves_of(cx, zero, dim);
  Tensor both = cx.ops().concat(cx, {waves_of(cx, timestep, dim), guidance});
  Tensor which = cx.once("mod_proj", input.encoder_hidden_states, [&] {
    Tensor places = cx.ops().token_positions(cx, {timestep, count, 0, 0});
    Tensor last = places.select(1, 3);
    return waves_of(cx, cx.ops().affine(cx, {last, 1000.0, 0.0}), 2 * dim);
  });
  auto of_row = [&](int64_t row) {
    Tensor same = both.narrow(0, row, 1).expand({count, 2 * dim});
    return cx.ops().concat(cx, {same, which}).unsqueeze(0);
  };
  const int64_t rows = both.size(0);
  Tensor all = of_row(0);
  for (int64_t row = 1; row < rows; ++row) all = cx.ops().concat(cx, {all, of_row(row)});
  Tensor vectors = nn::in_form(cx, all.view({rows, count, 4 * dim}));
  return distilled_guidance_layer.forward(cx, vectors);
}

auto ChromaTransformer2DModel::enter(Context& cx, const ChromaInput& input) const -> Trunk {
  const Tensor& text = input.encoder_hidden_states;
  nn::ensure_whole_tokens(text, input.sample, nn::patch_side);
  const Tensor latents = nn::packed_patches(input.sample);
  const int64_t height = latents.size(2), width = latents.size(3);
  nn::TokenStream tokens;
  tokens.text = context_embedder.forward_once(cx, text);
  tokens.image = x_embedder.forward(cx, nn::tokens_of(nn::in_form(cx, latents)));
  Tensor bias;
  if (input.encoder_attention_mask)
    bias = score_bias(cx, *input.encoder_attention_mask, tokens.image);
  ChromaContext call{.modulations = modulations(cx, input),
                     .rotary = nn::flux_rotary(
                         cx, config_.axes_dims_rope,
                         {.text = text, .texts = text.size(1), .height = height, .width = width}),
                     .bias = bias,
                     .height = height,
                     .width = width};
  const nn::TokenSpan image{text.size(1), height * width};
  return {.tokens = std::move(tokens), .axis = image, .call = std::move(call)};
}

nn::TokenStream ChromaTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                const ChromaContext& call) const {
  constexpr int64_t of_single = ChromaTransformer2DConfig::of_single,
                    of_stream = ChromaTransformer2DConfig::of_stream;
  const size_t single = transformer_blocks.size();
  if (i >= single) {
    const auto at = of_single * static_cast<int64_t>(i - single);
    return {.image = single_transformer_blocks[i - single].forward(cx, x.image, call, at)};
  }
  const int64_t images = of_single * config_.num_single_layers,
                texts = images + of_stream * config_.num_layers,
                at = of_stream * static_cast<int64_t>(i);
  return transformer_blocks[i].forward(cx, x, call, images + at, texts + at);
}

Tensor ChromaTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                       const ChromaContext& call) const {
  const int64_t last = config_.modulations() - ChromaTransformer2DConfig::of_last;
  Tensor h = nn::modulated_by(cx, norm_out, tokens,
                              {.shift = call.modulations.narrow(1, last, 1),
                               .scale = call.modulations.narrow(1, last + 1, 1),
                               .gate = {}});
  return nn::unpacked_patches(nn::image_of(proj_out.forward(cx, h), call.height, call.width));
}

const nn::NetworkInfo& chroma_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "ChromaTransformer2DModel",
      .make = nn::network_of<ChromaTransformer2DModel, read_chroma_transformer_2d_config>,
      .summary = "the diffusion transformer of Chroma",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Chroma's transformer (double_blocks, distilled_guidance_layer)",
                       .config = chroma_original_config,
                       .layout = [](const auto&) { return std::string("chroma"); },
                       .prefixes = {"", "model.diffusion_model.", "diffusion_model.", "model."}},
      .gguf = {{"double_blocks.0.", "flux"}},
  };
  return info;
}

}  // namespace omnirt
