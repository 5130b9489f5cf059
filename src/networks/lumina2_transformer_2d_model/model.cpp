#include "networks/lumina2_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/lumina2_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {
constexpr double rope_theta = 10000;
constexpr double train_timesteps = 1000.0;

// {T + h w, 3}: of a text 0 and on, row 0, column 0; of the image behind it T, row, column.
Tensor positions(Context& cx, const Tensor& text, int64_t height, int64_t width) {
  const int64_t tokens = text.size(1), places = height * width;
  Tensor all = cx.ops().token_positions(cx, {text, tokens, height, width});
  Tensor counted = all.narrow(0, 0, tokens).narrow(1, 3, 1);
  Tensor after = cx.ops().affine(
      cx, {all.narrow(0, tokens, places).narrow(1, 0, 1), 1.0, static_cast<double>(tokens)});
  Tensor first = cx.ops().concat(cx, {counted.unsqueeze(0), after.unsqueeze(0)}).squeeze(0);
  return cx.ops().concat(cx, {first, all.narrow(1, 1, 2)});
}

}  // namespace

Lumina2Transformer2DModel::Lumina2Transformer2DModel(const Lumina2Transformer2DConfig& config,
                                                     Json json)
    : Transformer(std::move(json)),
      x_embedder(this, "x_embedder", config.patch_size * config.patch_size * config.in_channels,
                 config.hidden_size),
      time_caption_embed(this, "time_caption_embed", config),
      noise_refiner(this, "noise_refiner"),
      context_refiner(this, "context_refiner"),
      layers(this, "layers"),
      norm_out(this, "norm_out", config),
      config_(config) {
  for (int64_t i = 0; i < config.num_refiner_layers; ++i) {
    noise_refiner.add(config, /*modulated=*/true);
    context_refiner.add(config, /*modulated=*/false);
  }
  for (int64_t i = 0; i < config.num_layers; ++i) layers.add(config, /*modulated=*/true);
  set_blocks(layers);
}

nn::Metadata Lumina2Transformer2DModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"Lumina2TransformerBlock"},
                                      .skip_layerwise_casting_patterns = {"x_embedder", "norm"},
                                      .repeated_blocks = {"Lumina2TransformerBlock"}});
}

std::vector<nn::OriginalLayout> Lumina2Transformer2DModel::original_layouts() const {
  return {lumina2_original_layout(config_)};
}

// Once per run, text and size.
Lumina2Transformer2DModel::Places Lumina2Transformer2DModel::places(
    Context& cx, const Lumina2Input& input) const {
  const Tensor& text = input.encoder_hidden_states;
  const int64_t tokens = text.size(1);
  const int64_t height = input.sample.size(2) / patch_size();
  const int64_t width = input.sample.size(3) / patch_size();
  auto part = [&](const char* name, int64_t from, int64_t count) {
    return cx.once(fmt::format("rotary of {} {}x{}", name, height, width), text, [&] {
      Tensor all = positions(cx, text, height, width);
      return nn::rope_table(cx, all.narrow(0, from, count), config_.axes_dim_rope, rope_theta);
    });
  };
  return {part("text", 0, tokens), part("image", tokens, height * width),
          part("both", 0, tokens + height * width)};
}

// No step changes it.
Tensor Lumina2Transformer2DModel::refined_text(Context& cx, const Lumina2Input& input,
                                               const Tensor& rotary) const {
  const Tensor& text = input.encoder_hidden_states;
  return cx.once("context_refiner", text, [&] {
    Tensor h = time_caption_embed.caption_embedder.forward(cx, nn::in_form(cx, text));
    return nn::run_list(cx, context_refiner, h, rotary, Tensor());
  });
}

// The network's time runs from noise to image.
Tensor Lumina2Transformer2DModel::activated_time(Context& cx, const Lumina2Input& input) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)}).contiguous();
  Tensor time = cx.ops().affine(cx, {timestep, -1.0 / train_timesteps, 1.0});
  return cx.ops().activate(
      cx, {time_caption_embed.timestep_embedder.embed(cx, time), ops::Activation::silu});
}

auto Lumina2Transformer2DModel::enter(Context& cx, const Lumina2Input& input) const -> Trunk {
  const int64_t side = patch_size();
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, side);
  const int64_t height = input.sample.size(2) / side, width = input.sample.size(3) / side;
  Tensor activated = activated_time(cx, input);
  Places at = places(cx, input);
  nn::TokenStream tokens{.text = refined_text(cx, input, at.text)};
  Tensor patches = nn::patch_tokens(nn::in_form(cx, input.sample), side);
  tokens.image =
      nn::run_list(cx, noise_refiner, x_embedder.forward(cx, patches), at.image, activated);
  const nn::TokenSpan image{tokens.text.size(1), height * width};
  return {.tokens = std::move(tokens),
          .axis = image,
          .call = {std::move(activated), at.all, height, width}};
}

nn::TokenStream Lumina2Transformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                 const Lumina2Call& call) const {
  return {.image = layers[i].forward(cx, x.image, call.rotary, call.activated)};
}

Tensor Lumina2Transformer2DModel::leave(Context& cx, const Tensor& tokens,
                                        const Lumina2Call& call) const {
  Tensor h = norm_out.forward(cx, tokens, call.activated);
  h = cx.ops().affine(cx, {h, -1.0, 0.0});  // image minus noise -> noise minus image
  return nn::image_of_patches(h, call.height, call.width, patch_size());
}

const nn::NetworkInfo& lumina2_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Lumina2Transformer2DModel",
      .make = nn::network_of<Lumina2Transformer2DModel, read_lumina2_transformer_2d_config>,
      .summary = "the diffusion transformer of Lumina-Image 2.0",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Lumina 2's transformer (layers.*, cap_embedder.*, no x_pad_token)",
                       .config = lumina2_original_config,
                       .layout = [](const auto&) { return std::string("lumina2"); },
                       .prefixes = lumina2_original_prefixes()},
      .gguf = {{"context_refiner.0.", "lumina2"}},
      .marks = {{"model.diffusion_model.cap_embedder.", "a Lumina 2 or Z-Image transformer"},
                {"cap_embedder.", "a Lumina 2 or Z-Image transformer"}},
  };
  return info;
}

}  // namespace omnirt
