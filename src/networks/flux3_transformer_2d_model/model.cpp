#include "networks/flux3_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/flux3_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {
nn::TimestepEmbeddingOptions flux3_time(const Flux3Transformer2DConfig& config) {
  return {.in = config.timestep_channels, .out = config.inner_dim(), .bias = false};
}

// {T, 4} and {L, 4} one after the other.
Tensor flux3_joined(Context& cx, const Tensor& first, const Tensor& second) {
  Tensor a = first.unsqueeze(0), b = second.unsqueeze(0);
  return cx.ops().concat(cx, {a, b}).squeeze(0);
}

}  // namespace

Flux3Transformer2DModel::Flux3Transformer2DModel(const Flux3Transformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
      timestep_embedder(this, "timestep_embedder", flux3_time(config)),
      early_stream_modulations(this, "early_stream_modulations", config.inner_dim()),
      single_stream_modulations(this, "single_stream_modulations", config.inner_dim()),
      x_embedders(this, "x_embedders", config),
      context_embedder(this, "context_embedder", config.joint_attention_dim, config.inner_dim(),
                       /*with_bias=*/false),
      mode_blocks(this, "mode_blocks"),
      txt_mode_blocks(this, "txt_mode_blocks"),
      single_transformer_blocks(this, "single_transformer_blocks"),
      norm_out(this, "norm_out", config),
      proj_out(this, "proj_out", config.inner_dim(), config.in_channels, /*with_bias=*/false),
      config_(config) {
  if (config.flow_map)
    target_timestep_embedder.emplace(this, "target_timestep_embedder", flux3_time(config));
  const Flux3Stream rest = config.flow_map ? Flux3Stream::changes : Flux3Stream::stays;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    mode_blocks.image.add(config, Flux3Stream::changes);
    mode_blocks.image_cond.add(config, rest);
    txt_mode_blocks.add(config, rest);
  }
  for (int64_t i = 0; i < config.num_single_layers; ++i) single_transformer_blocks.add(config);
  set_blocks(mode_blocks.image, single_transformer_blocks);
}

nn::Metadata Flux3Transformer2DModel::metadata() const {
  // The reference names pos_embed as well, which has no weights to cast.
  return nn::feature_metadata(
      *this, {.no_split_modules = {"Flux3ModeTransformerBlock", "Flux3SingleTransformerBlock"},
              .skip_layerwise_casting_patterns = {"norm"},
              .repeated_blocks = {"Flux3ModeTransformerBlock", "Flux3SingleTransformerBlock"}});
}

std::vector<nn::OriginalLayout> Flux3Transformer2DModel::original_layouts() const {
  return {flux3_original_layout()};
}

// A flow map's end of the step is added to both, so that nothing stays the same through its run.
Flux3Transformer2DModel::Times Flux3Transformer2DModel::times(Context& cx,
                                                              const Flux3Input& input) const {
  ensure(input.target_timestep.has_value() == config_.flow_map,
         "target_timestep is for flow maps, and they need it");
  const int64_t rows = input.sample.size(0);
  auto of_rows = [rows](const Tensor& numbers) { return numbers.to(at::kFloat).expand({rows}); };
  Tensor timestep = of_rows(input.timestep);
  Tensor zero = cx.ops().affine(cx, {timestep.narrow(0, 0, 1), 0.0, 0.0});
  Times made{timestep_embedder.embed(cx, timestep), timestep_embedder.embed(cx, zero)};
  if (target_timestep_embedder) {
    Tensor target = target_timestep_embedder->embed(cx, of_rows(*input.target_timestep));
    made = {cx.ops().add(cx, {made.image, target}), cx.ops().add(cx, {target, made.rest})};
  }
  for (Tensor* each : {&made.image, &made.rest})
    *each = cx.ops().activate(cx, {*each, ops::Activation::silu});
  return made;
}

// Once per run, text and size, for windows of an image may have several.
Flux3Transformer2DModel::Places Flux3Transformer2DModel::places(Context& cx,
                                                                const Flux3Input& input) const {
  const Tensor& text = input.encoder_hidden_states;
  const int64_t height = input.sample.size(2), width = input.sample.size(3);
  const std::string size = fmt::format("{}x{}", height, width);
  auto of_text = [&] { return cx.ops().token_positions(cx, {text, text.size(1), 0, 0}); };
  auto of_image = [&] {
    Tensor grid = cx.ops().token_positions(cx, {text, 0, height, width});
    return cx.ops().affine(cx, {grid, image_rope_scale, 0.0});
  };
  auto of_all = [&] {
    Tensor joined = flux3_joined(cx, of_text(), of_image());
    return input.reference_ids ? flux3_joined(cx, joined, input.reference_ids->select(0, 0))
                               : joined;
  };
  auto table = [&](const Tensor& positions) {
    return nn::rope_table(cx, positions, config_.axes_dims_rope, config_.rope_theta);
  };
  Places made{.text = cx.once("rotary of text", text, [&] { return table(of_text()); }),
              .image = cx.once("rotary of image " + size, text, [&] { return table(of_image()); }),
              .references = {},
              .all = cx.once("rotary " + size, text, [&] { return table(of_all()); })};
  if (input.reference_ids) {
    made.references = cx.once("rotary of references", *input.reference_ids,
                              [&] { return table(input.reference_ids->select(0, 0)); });
  }
  return made;
}

// After the blocks of its own, which see neither image nor timestep: once per run, but in flow
// maps.
Tensor Flux3Transformer2DModel::texts(Context& cx, const Flux3Input& input, const Times& at,
                                      const Places& where) const {
  const Tensor& text = input.encoder_hidden_states;
  auto embed = [&] { return context_embedder.forward(cx, nn::in_form(cx, text)); };
  auto through = [&](Tensor tokens) {
    return nn::run_list(cx, txt_mode_blocks, std::move(tokens),
                        early_stream_modulations.txt.forward(cx, at.rest), where.text);
  };
  if (config_.flow_map) return through(cx.once(context_embedder.path(), text, embed));
  return cx.once(txt_mode_blocks.path(), text, [&] { return through(embed()); });
}

Tensor Flux3Transformer2DModel::references(Context& cx, const Flux3Input& input, const Times& at,
                                           const Places& where) const {
  const Tensor& given = *input.reference_latents;
  const nn::Linear& embedder = x_embedders.image_cond;
  auto embed = [&] { return embedder.forward(cx, nn::in_form(cx, given)); };
  auto through = [&](Tensor tokens) {
    return nn::run_list(cx, mode_blocks.image_cond, std::move(tokens),
                        early_stream_modulations.image_cond.forward(cx, at.rest), where.references);
  };
  if (config_.flow_map) return through(cx.once(embedder.path(), given, embed));
  return cx.once(mode_blocks.image_cond.path(), given, [&] { return through(embed()); });
}

auto Flux3Transformer2DModel::enter(Context& cx, const Flux3Input& input) const -> Trunk {
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, 1);
  ensure(input.reference_latents.has_value() == input.reference_ids.has_value(),
         "tokens of reference images come with their positions");
  const Times at = times(cx, input);
  const Places where = places(cx, input);
  const Flux3Modulations& by = single_stream_modulations;
  Flux3Call call{.activated = at.image,
                 .image = early_stream_modulations.image.forward(cx, at.image),
                 .single_text = by.txt.forward(cx, at.rest),
                 .single = by.image.forward(cx, at.image),
                 .single_references = {},
                 .rotary_image = where.image,
                 .rotary_all = where.all,
                 .height = input.sample.size(2),
                 .width = input.sample.size(3)};
  nn::TokenStream tokens{.text = texts(cx, input, at, where)};
  tokens.image = x_embedders.image.forward(cx, nn::tokens_of(nn::in_form(cx, input.sample)));
  if (input.reference_latents) {
    call.single_references = by.image_cond.forward(cx, at.rest);
    tokens.references = references(cx, input, at, where);
  }
  const nn::TokenSpan image{0, call.height * call.width};
  return {.tokens = std::move(tokens), .axis = image, .call = std::move(call)};
}

nn::TokenStream Flux3Transformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                               const Flux3Call& call) const {
  const size_t single = mode_blocks.image.size();
  if (i < single) {
    x.image = mode_blocks.image[i].forward(cx, x.image, call.image, call.rotary_image);
    return x;
  }
  std::vector<Flux3Part> parts{{std::move(x.text), call.single_text},
                               {std::move(x.image), call.single}};
  if (x.references.defined()) parts.push_back({std::move(x.references), call.single_references});
  single_transformer_blocks[i - single].forward(cx, parts, call.rotary_all);
  return {.text = parts[0].tokens,
          .image = parts[1].tokens,
          .references = parts.size() > 2 ? parts[2].tokens : Tensor()};
}

Tensor Flux3Transformer2DModel::leave(Context& cx, const Tensor& tokens,
                                      const Flux3Call& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.activated));
  return nn::image_of(made, call.height, call.width);
}

const nn::NetworkInfo& flux3_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Flux3Transformer2DModel",
      .make = nn::network_of<Flux3Transformer2DModel, read_flux3_transformer_2d_config>,
      .summary = "the diffusion transformer of FLUX.3",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "FLUX.3's transformer (content_mode_blocks.*, txt_mode_blocks.*)",
                       .config = flux3_original_config,
                       .layout = [](const auto&) { return std::string("flux3"); },
                       .prefixes = flux3_original_prefixes()},
      .gguf = {{"content_mode_blocks.", "flux3"}},
      .marks = {{"model.diffusion_model.content_mode_blocks.", "a FLUX.3 transformer"},
                {"content_mode_blocks.", "a FLUX.3 transformer"}},
  };
  return info;
}

}  // namespace omnirt
