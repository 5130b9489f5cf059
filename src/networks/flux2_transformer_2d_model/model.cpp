#include "networks/flux2_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/flux2_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/optional_inputs.hpp"

namespace omnirt {

Flux2Transformer2DModel::Flux2Transformer2DModel(const Flux2Transformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
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

Tensor Flux2Transformer2DModel::embedded_once(Context& cx, const nn::Linear& embedder,
                                              const Tensor& x) {
  return cx.once(embedder.path(), x, [&] { return embedder.forward(cx, nn::in_form(cx, x)); });
}

// Tokens as wide as the blocks are.
Flux2Streams Flux2Transformer2DModel::embedded(Context& cx, const Flux2Input& input) const {
  Flux2Streams streams;
  streams.text = embedded_once(cx, context_embedder, input.encoder_hidden_states);
  Tensor tokens = nn::tokens_of(nn::in_form(cx, input.sample));
  streams.image = x_embedder.forward(cx, tokens);
  if (!input.reference_latents) return streams;
  Tensor references = embedded_once(cx, x_embedder, *input.reference_latents);
  streams.image = cx.ops().concat(cx, {streams.image, references});
  return streams;
}

Tensor Flux2Transformer2DModel::rotary_table(Context& cx, const Tensor& positions) const {
  return cx.ops().rotary_table(cx, {.x = positions,
                                    .axes = config_.axes_dims_rope,
                                    .theta = config_.rope_theta,
                                    .angles_in_fp64 = true});
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
    return rotary_table(cx, positions);
  });
}

Tensor Flux2Transformer2DModel::activated(Context& cx, const Tensor& timestep,
                                          const Tensor* guidance) const {
  Tensor temb = time_guidance_embed.forward(cx, timestep, guidance);
  return cx.ops().activate(cx, {temb, ops::Activation::silu});
}

// Of the image's tokens and the reference images', {B, L, D}.
Tensor Flux2Transformer2DModel::through_blocks(Context& cx, Flux2Streams streams,
                                               const Tensor& activated, const Tensor& rotary,
                                               nn::KeptTokens* references) const {
  auto image = double_stream_modulation_img.forward(cx, activated);
  auto text = double_stream_modulation_txt.forward(cx, activated);
  auto kept = [references](size_t i) -> Flux2Kept {
    if (!references) return nullptr;
    return [references, i] { return references->of(i); };
  };
  auto one = [&](size_t i) {
    streams = transformer_blocks[i].forward(cx, streams, image, text, rotary, kept(i));
  };
  auto first = [&] {
    if (!transformer_blocks.empty()) one(0);
    return streams.image;
  };
  auto rest = [&] {
    for (size_t i = 1; i < transformer_blocks.size(); ++i) one(i);
    Tensor h = cx.ops().concat(cx, {streams.text, streams.image});
    const int64_t texts = streams.text.size(1), images = streams.image.size(1);
    streams = {};
    auto single = single_stream_modulation.forward(cx, activated);
    for (size_t i = 0; i < single_transformer_blocks.size(); ++i)
      h = single_transformer_blocks[i].forward(cx, h, single[0], rotary,
                                               kept(transformer_blocks.size() + i));
    return h.narrow(1, texts, images);
  };
  const Tensor hidden = cx.block_cache() ? streams.image : Tensor();
  return cx.cached_blocks("blocks", hidden, first, rest);
}

Tensor Flux2Transformer2DModel::predicted(Context& cx, const Flux2Input& input) const {
  const int64_t rows = input.sample.size(0);
  Tensor timestep = input.timestep.to(at::kFloat).expand({rows});
  Tensor at_time = activated(cx, timestep, input.guidance ? &*input.guidance : nullptr);
  std::optional<nn::KeptTokens> kept = references(cx, input);
  Tensor h =
      through_blocks(cx, embedded(cx, input), at_time, rotary(cx, input), kept ? &*kept : nullptr);
  h = norm_out.forward(cx, h.narrow(1, 0, input.sample.size(2) * input.sample.size(3)), at_time);
  return proj_out.forward(cx, h);
}

Tensor Flux2Transformer2DModel::predict(Context& cx, const Values& inputs) const {
  Values own = inputs;
  auto kept = nn::fill_optional_inputs<Flux2KeptReferences>(cx, own);
  auto input = nn::fill_inputs<Flux2Input>(cx, own);
  input.kept = std::move(kept);
  ensure(input.encoder_hidden_states.size(0) == input.sample.size(0),
         "{} rows of text for {} samples", input.encoder_hidden_states.size(0),
         input.sample.size(0));
  const Tensor made = cx.predicted_output(proj_out.path(), [&] { return predicted(cx, input); });
  return nn::image_of(made, input.sample.size(2), input.sample.size(3));
}

std::vector<nn::NetworkInput> Flux2Transformer2DModel::inputs() const {
  auto names = nn::with_optional_inputs<Flux2KeptReferences>(nn::input_names<Flux2Input>());
  std::erase_if(names, [&](const nn::NetworkInput& input) {
    return !config_.guidance_embeds && input.name == "guidance";
  });
  return names;
}

const nn::NetworkInfo& flux2_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Flux2Transformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<Flux2Transformer2DModel>(
            read_flux2_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of FLUX.2",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs =
                           "FLUX.2's transformer (double_blocks.*, single_stream_modulation.*)",
                       .config = flux2_original_config,
                       .layout = [](const auto&) { return std::string("flux2"); },
                       .prefixes = flux2_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
