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

Tensor flux3_through(Context& cx, const nn::ModuleList<Flux3ModeTransformerBlock>& blocks,
                     Tensor tokens, const Flux3ModulationSet& by, const Tensor& rotary) {
  for (size_t i = 0; i < blocks.size(); ++i) tokens = blocks[i].forward(cx, tokens, by, rotary);
  return tokens;
}

// {T, 4} and {L, 4} one after the other.
Tensor flux3_joined(Context& cx, const Tensor& first, const Tensor& second) {
  Tensor a = first.unsqueeze(0), b = second.unsqueeze(0);
  return cx.ops().concat(cx, {a, b}).squeeze(0);
}

}  // namespace

Flux3Transformer2DModel::Flux3Transformer2DModel(const Flux3Transformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
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

Tensor Flux3Transformer2DModel::embedded(Context& cx, const nn::TimestepEmbedding& embedder,
                                         const Tensor& timestep) const {
  Tensor waves = cx.ops().timestep_embedding(
      cx, {timestep, config_.timestep_channels, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  return embedder.forward(cx, nn::in_form(cx, waves), nullptr);
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
  Times made{embedded(cx, timestep_embedder, timestep), embedded(cx, timestep_embedder, zero)};
  if (target_timestep_embedder) {
    Tensor target = embedded(cx, *target_timestep_embedder, of_rows(*input.target_timestep));
    made = {cx.ops().add(cx, {made.image, target}), cx.ops().add(cx, {target, made.rest})};
  }
  for (Tensor* each : {&made.image, &made.rest})
    *each = cx.ops().activate(cx, {*each, ops::Activation::silu});
  return made;
}

Tensor Flux3Transformer2DModel::table(Context& cx, const Tensor& positions) const {
  return cx.ops().rotary_table(cx, {.x = positions,
                                    .axes = config_.axes_dims_rope,
                                    .theta = config_.rope_theta,
                                    .angles_in_fp64 = true});
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
  Places made{
      .text = cx.once("rotary of text", text, [&] { return table(cx, of_text()); }),
      .image = cx.once("rotary of image " + size, text, [&] { return table(cx, of_image()); }),
      .references = {},
      .all = cx.once("rotary " + size, text, [&] { return table(cx, of_all()); })};
  if (input.reference_ids) {
    made.references = cx.once("rotary of references", *input.reference_ids,
                              [&] { return table(cx, input.reference_ids->select(0, 0)); });
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
    return flux3_through(cx, txt_mode_blocks, std::move(tokens),
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
    return flux3_through(cx, mode_blocks.image_cond, std::move(tokens),
                         early_stream_modulations.image_cond.forward(cx, at.rest),
                         where.references);
  };
  if (config_.flow_map) return through(cx.once(embedder.path(), given, embed));
  return cx.once(mode_blocks.image_cond.path(), given, [&] { return through(embed()); });
}

// The image's tokens after the blocks over all; it is the second part.
Tensor Flux3Transformer2DModel::through_single(Context& cx, std::vector<Flux3Part> parts,
                                               const Places& where) const {
  for (size_t i = 0; i < single_transformer_blocks.size(); ++i)
    single_transformer_blocks[i].forward(cx, parts, where.all);
  return parts[1].tokens;
}

Tensor Flux3Transformer2DModel::through_blocks(Context& cx, const Flux3Input& input,
                                               const Times& at) const {
  const Places where = places(cx, input);
  Tensor image = x_embedders.image.forward(cx, nn::tokens_of(nn::in_form(cx, input.sample)));
  image = flux3_through(cx, mode_blocks.image, std::move(image),
                        early_stream_modulations.image.forward(cx, at.image), where.image);
  const Flux3Modulations& by = single_stream_modulations;
  std::vector<Flux3Part> parts{{texts(cx, input, at, where), by.txt.forward(cx, at.rest)},
                               {std::move(image), by.image.forward(cx, at.image)}};
  if (input.reference_latents)
    parts.push_back({references(cx, input, at, where), by.image_cond.forward(cx, at.rest)});
  return through_single(cx, std::move(parts), where);
}

Tensor Flux3Transformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<Flux3Input>(cx, inputs);
  const int64_t rows = input.sample.size(0), texts = input.encoder_hidden_states.size(0);
  ensure(texts == rows, "{} rows of text for {} samples", texts, rows);
  ensure(input.reference_latents.has_value() == input.reference_ids.has_value(),
         "tokens of reference images come with their positions");
  const Times at = times(cx, input);
  const Tensor h = norm_out.forward(cx, through_blocks(cx, input, at), at.image);
  return nn::image_of(proj_out.forward(cx, h), input.sample.size(2), input.sample.size(3));
}

std::vector<nn::NetworkInput> Flux3Transformer2DModel::inputs() const {
  auto names = nn::input_names<Flux3Input>();
  auto is_target = [](const nn::NetworkInput& input) { return input.name == "target_timestep"; };
  if (!config_.flow_map) std::erase_if(names, is_target);
  for (nn::NetworkInput& input : names) input.required |= is_target(input);
  return names;
}

const nn::NetworkInfo& flux3_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Flux3Transformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<Flux3Transformer2DModel>(
            read_flux3_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of FLUX.3",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "FLUX.3's transformer (content_mode_blocks.*, txt_mode_blocks.*)",
                       .config = flux3_original_config,
                       .layout = [](const auto&) { return std::string("flux3"); },
                       .prefixes = flux3_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
