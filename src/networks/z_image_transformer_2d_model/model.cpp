#include "networks/z_image_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "networks/z_image_transformer_2d_model/original.hpp"
#include "networks/z_image_transformer_2d_model/positions.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/optional_inputs.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

// Texts and images are padded to a multiple of this many tokens (reference: SEQ_MULTI_OF).
constexpr int64_t z_image_multiple = 32;
constexpr double train_timesteps = 1000.0;

int64_t missing(int64_t tokens) {
  return (z_image_multiple - tokens % z_image_multiple) % z_image_multiple;
}

// x with what a ControlNet adds after this block, if anything.
Tensor with_hint(Context& cx, const Tensor& x, const std::vector<Tensor>& hints, size_t block) {
  if (block >= hints.size() || hints[block].size(1) == 0) return x;
  return nn::with_residual(cx, x, hints, block);
}

}  // namespace

Tensor z_image_behind(Context& cx, const Tensor& first, const Tensor& second) {
  Tensor a = first.unsqueeze(0), b = second.unsqueeze(0);
  return cx.ops().concat(cx, {a, b}).squeeze(0);
}

Tensor z_image_with_first_axis(Context& cx, const Tensor& first, double offset,
                               const Tensor& others) {
  Tensor moved = cx.ops().affine(cx, {first, 1.0, offset});
  return cx.ops().concat(cx, {moved, others});
}

int64_t ZImageTransformer2DModel::padded(int64_t tokens) {
  return tokens + missing(tokens);
}

ZImageTransformer2DModel::ZImageTransformer2DModel(const ZImageTransformer2DConfig& config,
                                                   Json json)
    : DenoiserNetwork(std::move(json)),
      all_x_embedder(this, "all_x_embedder", config.patch_channels(), config.dim),
      all_final_layer(this, "all_final_layer", config),
      noise_refiner(this, "noise_refiner"),
      context_refiner(this, "context_refiner"),
      t_embedder(this, "t_embedder", config.modulation_dim()),
      cap_embedder(this, "cap_embedder", config.cap_feat_dim, config),
      siglip_refiner(this, "siglip_refiner"),
      x_pad_token(param("x_pad_token", {1, config.dim})),
      cap_pad_token(param("cap_pad_token", {1, config.dim})),
      layers(this, "layers"),
      config_(config) {
  if (config.siglip_feat_dim) {
    siglip_embedder.emplace(this, "siglip_embedder", *config.siglip_feat_dim, config);
    siglip_pad_token = param("siglip_pad_token", {1, config.dim});
    own(siglip_pad_token);
    for (int64_t i = 0; i < config.n_refiner_layers; ++i)
      siglip_refiner.add(config, /*modulated=*/false);
  }
  own(x_pad_token);
  own(cap_pad_token);
  for (int64_t i = 0; i < config.n_refiner_layers; ++i) {
    noise_refiner.add(config, /*modulated=*/true);
    context_refiner.add(config, /*modulated=*/false);
  }
  for (int64_t i = 0; i < config.n_layers; ++i) layers.add(config, /*modulated=*/true);
}

nn::Metadata ZImageTransformer2DModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"ZImageTransformerBlock"},
                               .skip_layerwise_casting_patterns = {"t_embedder", "cap_embedder"},
                               .repeated_blocks = {"ZImageTransformerBlock"}});
}

std::vector<nn::OriginalLayout> ZImageTransformer2DModel::original_layouts() const {
  return {z_image_original_layout(siglip_dim() > 0)};
}

std::vector<nn::NetworkInput> ZImageTransformer2DModel::inputs() const {
  auto names = nn::input_names<ZImageInput>();
  return siglip_dim() == 0 ? names : nn::with_optional_inputs<ZImageOmniInput>(std::move(names));
}

Tensor ZImageTransformer2DModel::filled_up(Context& cx, const Tensor& x, const Param& token) const {
  int64_t more = missing(x.size(1));
  if (more == 0) return x;
  Tensor padding = cx[token].expand({x.size(0), more, x.size(2)});
  return cx.ops().concat(cx, {x, padding});
}

Tensor ZImageTransformer2DModel::text_positions(Context& cx, const Tensor& like, int64_t text,
                                                double first) const {
  Tensor counted = cx.ops().token_positions(cx, {like, text, 0, 0});
  return z_image_with_first_axis(cx, counted.narrow(1, 3, 1), first, counted.narrow(1, 0, 2));
}

Tensor ZImageTransformer2DModel::padding_positions(Context& cx, const Tensor& like,
                                                   int64_t tokens) const {
  return cx.ops().token_positions(cx, {like, tokens, 0, 0}).narrow(1, 0, 3);
}

Tensor ZImageTransformer2DModel::image_positions(Context& cx, const Tensor& like,
                                                 const Tensor& latents, double place) const {
  int64_t height = latents.size(2) / patch_size(), width = latents.size(3) / patch_size();
  Tensor grid = cx.ops().token_positions(cx, {like, 0, height, width});
  Tensor image = z_image_with_first_axis(cx, grid.narrow(1, 0, 1), place, grid.narrow(1, 1, 2));
  int64_t more = missing(height * width);
  return more == 0 ? image : z_image_behind(cx, image, padding_positions(cx, like, more));
}

// The place after the text.
Tensor ZImageTransformer2DModel::image_positions(Context& cx, const ZImageInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  return image_positions(cx, text, input.sample, static_cast<double>(padded(text.size(1)) + 1));
}

Tensor ZImageTransformer2DModel::table(Context& cx, const Tensor& positions) const {
  return cx.ops().rotary_table(cx, {.x = positions,
                                    .axes = config_.axes_dims,
                                    .theta = config_.rope_theta,
                                    .angles_in_fp64 = true});
}

// Once per run, text and size.
ZImageTransformer2DModel::Places ZImageTransformer2DModel::places(Context& cx,
                                                                  const ZImageInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  int64_t tokens = padded(text.size(1));
  std::string size = fmt::format("{}x{}", input.sample.size(2), input.sample.size(3));
  return {.text = cx.once("rotary of text", text,
                          [&] { return table(cx, text_positions(cx, text, tokens)); }),
          .image = cx.once("rotary of image " + size, text,
                           [&] { return table(cx, image_positions(cx, input)); }),
          .all = cx.once("rotary " + size, text, [&] {
            return table(cx, z_image_behind(cx, image_positions(cx, input),
                                            text_positions(cx, text, tokens)));
          })};
}

// No step changes it.
Tensor ZImageTransformer2DModel::refined_text(Context& cx, const ZImageInput& input,
                                              const Tensor& rotary) const {
  const Tensor& text = input.encoder_hidden_states;
  return cx.once("context_refiner", text, [&] {
    Tensor h = filled_up(cx, cap_embedder.forward(cx, nn::in_form(cx, text)), cap_pad_token);
    for (size_t i = 0; i < context_refiner.size(); ++i)
      h = context_refiner[i].forward(cx, h, rotary, Tensor());
    return h;
  });
}

Tensor ZImageTransformer2DModel::embedded_latents(Context& cx, const Tensor& latents) const {
  Tensor tokens = nn::patch_tokens(nn::in_form(cx, latents), patch_size());
  return filled_up(cx, all_x_embedder.layer.forward(cx, tokens), x_pad_token);
}

Tensor ZImageTransformer2DModel::embedded_image(Context& cx, const ZImageInput& input) const {
  return embedded_latents(cx, input.sample);
}

// The network's time runs from noise to image.
Tensor ZImageTransformer2DModel::embedded_time(Context& cx, const ZImageInput& input) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)}).contiguous();
  double scale = config_.t_scale / train_timesteps;
  Tensor time = cx.ops().affine(cx, {timestep, -scale, config_.t_scale});
  return t_embedder.forward(cx, time);
}

Tensor ZImageTransformer2DModel::refined(Context& cx, const Tensor& image, const Tensor& embedded,
                                         const Tensor& rotary,
                                         const std::vector<Tensor>& hints) const {
  Tensor h = image;
  for (size_t i = 0; i < noise_refiner.size(); ++i)
    h = with_hint(cx, noise_refiner[i].forward(cx, h, rotary, embedded), hints, i);
  return h;
}

Tensor ZImageTransformer2DModel::refined(Context& cx, const Values& inputs) const {
  std::vector<Tensor> hints;
  if (auto given = inputs.find("hints"); given != inputs.end())
    for (const Value& hint : given->second) hints.push_back(hint.tensor());
  return refined(cx, nn::in_form(cx, one(inputs, "image")),
                 nn::in_form(cx, one(inputs, "embedded")), one(inputs, "image_rotary"), hints);
}

Values ZImageTransformer2DModel::lent(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<ZImageInput>(cx, inputs);
  Places at_places = places(cx, input);
  return {{"image", {embedded_image(cx, input)}},
          {"text", {refined_text(cx, input, at_places.text)}},
          {"embedded", {embedded_time(cx, input)}},
          {"image_rotary", {at_places.image}},
          {"rotary", {at_places.all}}};
}

Tensor ZImageTransformer2DModel::through_layers(Context& cx, Tensor all, const Tensor& embedded,
                                                const Tensor& rotary,
                                                const std::vector<Tensor>& hints) const {
  const Tensor hidden = cx.block_cache() ? all : Tensor();
  auto go = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i)
      all = with_hint(cx, layers[i].forward(cx, all, rotary, embedded), hints, i);
    return all;
  };
  const size_t head = std::min<size_t>(1, layers.size());
  return cx.cached_blocks(
      "layers", hidden, [&] { return go(0, head); }, [&] { return go(head, layers.size()); });
}

// Of the image, {B, L, channels of a patch}.
Tensor ZImageTransformer2DModel::patches(Context& cx, const ZImageInput& input) const {
  int64_t height = input.sample.size(2), width = input.sample.size(3);
  Tensor embedded = embedded_time(cx, input);
  Places at_places = places(cx, input);
  Tensor text = refined_text(cx, input, at_places.text);
  Tensor h = refined(cx, embedded_image(cx, input), embedded, at_places.image, {});
  Tensor all = cx.ops().concat(cx, {h, text});
  h = through_layers(cx, std::move(all), embedded, at_places.all, input.controlnet_block_samples);
  int64_t tokens = height / patch_size() * (width / patch_size());
  return all_final_layer.layer.forward(cx, h.narrow(1, 0, tokens), embedded);
}

Tensor ZImageTransformer2DModel::predict(Context& cx, const Values& inputs) const {
  Values own = inputs;
  auto omni = nn::fill_optional_inputs<ZImageOmniInput>(cx, own);
  auto input = nn::fill_inputs<ZImageInput>(cx, own);
  input.omni = std::move(omni);
  int64_t rows = input.sample.size(0), height = input.sample.size(2), width = input.sample.size(3);
  ensure(input.encoder_hidden_states.size(0) == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.size(0), rows);
  ensure(height % patch_size() == 0 && width % patch_size() == 0, "latents of {} x {}", height,
         width);
  Tensor h = cx.predicted_output(all_final_layer.path(), [&] {
    return siglip_dim() > 0 ? omni_patches(cx, input) : patches(cx, input);
  });
  h = cx.ops().affine(cx, {h, -1.0, 0.0});  // image minus noise -> noise minus image
  return nn::image_of_patches(h, height / patch_size(), width / patch_size(), patch_size());
}

const nn::NetworkInfo& z_image_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "ZImageTransformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<ZImageTransformer2DModel>(
            read_z_image_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of Z-Image",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Z-Image's transformer (layers.*, x_pad_token, cap_embedder.*)",
                       .config = z_image_original_config,
                       .layout = [](const auto&) { return std::string("z_image"); },
                       .prefixes = z_image_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
