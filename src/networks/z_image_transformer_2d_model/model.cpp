#include "networks/z_image_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/z_image_transformer_2d_model/original.hpp"
#include "networks/z_image_transformer_2d_model/positions.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

// Texts and images are padded to a multiple of this many tokens (reference: SEQ_MULTI_OF).
constexpr int64_t z_image_multiple = 32;
constexpr double train_timesteps = 1000.0;

int64_t missing(int64_t tokens) {
  return (z_image_multiple - tokens % z_image_multiple) % z_image_multiple;
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
    : Transformer(std::move(json)),
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
  set_blocks(layers);
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

std::vector<nn::NetworkInput> ZImageTransformer2DModel::own_inputs() const {
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

// Once per run, text and size.
ZImageTransformer2DModel::Places ZImageTransformer2DModel::places(Context& cx,
                                                                  const ZImageInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  int64_t tokens = padded(text.size(1));
  std::string size = fmt::format("{}x{}", input.sample.size(2), input.sample.size(3));
  auto once = [&](const std::string& site, auto&& positions) {
    return cx.once(site, text, [&] {
      return nn::rope_table(cx, positions(), config_.axes_dims, config_.rope_theta);
    });
  };
  auto of_text = [&] { return text_positions(cx, text, tokens); };
  auto of_image = [&] { return image_positions(cx, input); };
  return {.text = once("rotary of text", of_text),
          .image = once("rotary of image " + size, of_image),
          .all = once("rotary " + size, [&] { return z_image_behind(cx, of_image(), of_text()); })};
}

// No step changes it.
Tensor ZImageTransformer2DModel::refined_text(Context& cx, const ZImageInput& input,
                                              const Tensor& rotary) const {
  const Tensor& text = input.encoder_hidden_states;
  return cx.once("context_refiner", text, [&] {
    Tensor h = filled_up(cx, cap_embedder.forward(cx, nn::in_form(cx, text)), cap_pad_token);
    return nn::run_list(cx, context_refiner, h, rotary, Tensor());
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
  auto add_hint = [&](size_t i, Tensor& x) {
    if (i < hints.size() && hints[i].size(1) > 0) x = nn::with_residual(cx, x, hints[i]);
  };
  return nn::run_blocks(
      cx, noise_refiner, {0, noise_refiner.size()}, image,
      [&](size_t i, const Tensor& x) { return noise_refiner[i].forward(cx, x, rotary, embedded); },
      add_hint);
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

auto ZImageTransformer2DModel::entered(Context& cx, const ZImageInput& input) const -> Trunk {
  Tensor embedded = embedded_time(cx, input);
  Places at = places(cx, input);
  Tensor text = refined_text(cx, input, at.text);
  Tensor image = refined(cx, embedded_image(cx, input), embedded, at.image, {});
  Tensor all = cx.ops().concat(cx, {image, text});
  const int64_t height = input.sample.size(2) / patch_size(),
                width = input.sample.size(3) / patch_size(), tokens = all.size(1);
  return {.tokens = {.image = std::move(all)},
          .axis = {{0, height * width}, {0, tokens}},
          .call = {std::move(embedded), {}, at.all, height, width}};
}

auto ZImageTransformer2DModel::enter(Context& cx, const ZImageInput& input) const -> Trunk {
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, patch_size());
  return siglip_dim() > 0 ? omni_entered(cx, input) : entered(cx, input);
}

nn::TokenStream ZImageTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                const ZImageCall& call) const {
  if (!x.references.defined())
    return {.image = layers[i].forward(cx, x.image, call.rotary, call.embedded)};
  std::vector<nn::ZImagePart> parts{{std::move(x.image), call.embedded},
                                    {std::move(x.references), call.references_embedded}};
  layers[i].forward(cx, parts, call.rotary);
  return {.image = parts[0].tokens, .references = parts[1].tokens};
}

Tensor ZImageTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                       const ZImageCall& call) const {
  Tensor h = all_final_layer.layer.forward(cx, tokens, call.embedded);
  h = cx.ops().affine(cx, {h, -1.0, 0.0});  // image minus noise -> noise minus image
  return nn::image_of_patches(h, call.height, call.width, patch_size());
}

const nn::NetworkInfo& z_image_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "ZImageTransformer2DModel",
      .make = nn::network_of<ZImageTransformer2DModel, read_z_image_transformer_2d_config>,
      .summary = "the diffusion transformer of Z-Image",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Z-Image's transformer (layers.*, x_pad_token, cap_embedder.*)",
                       .config = z_image_original_config,
                       .layout = [](const auto&) { return std::string("z_image"); },
                       .prefixes = z_image_original_prefixes()},
      .gguf = {{"context_refiner.0.", "lumina2"}},
  };
  return info;
}

}  // namespace omnirt
