#include "networks/pixart_transformer_2d_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {
// What a score loses where a token is padding, as in the reference.
constexpr double padding_penalty = 10000.0;
constexpr double norm_out_eps = 1e-6;

std::unique_ptr<nn::Network> make_pixart(const Json& json, const std::string& where) {
  return std::make_unique<PixArtTransformer2DModel>(read_pixart_transformer_2d_config(json, where),
                                                    json);
}

nn::NetworkInfo info_of(std::string class_name, std::string summary) {
  return {.class_name = std::move(class_name),
          .make = make_pixart,
          .summary = std::move(summary),
          .weights_base = "diffusion_pytorch_model",
          .role = "denoiser",
          .marks = {{"adaln_single.", "a PixArt transformer alone"}}};
}

}  // namespace

PixArtTransformer2DModel::PixArtTransformer2DModel(const PixArtTransformer2DConfig& config,
                                                   Json json)
    : Transformer(std::move(json)),
      pos_embed(this, "pos_embed",
                {.in_channels = config.in_channels,
                 .dim = config.inner_dim(),
                 .patch_size = config.patch_size,
                 .base_size = config.sample_size / config.patch_size,
                 .position_scale = config.position_scale()}),
      transformer_blocks(this, "transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim(), norm_out_eps, /*affine=*/false),
      scale_shift_table(param("scale_shift_table", {2, config.inner_dim()})),
      proj_out(this, "proj_out", config.inner_dim(),
               config.patch_size * config.patch_size * config.predicted_channels()),
      adaln_single(this, "adaln_single", config.inner_dim(), config.takes_size()),
      config_(config) {
  own(scale_shift_table);
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
  set_blocks(transformer_blocks);
  if (config.caption_channels) {
    caption_projection.emplace(this, "caption_projection", *config.caption_channels,
                               config.inner_dim());
  }
}

nn::Metadata PixArtTransformer2DModel::metadata() const {
  nn::NetworkFeatures features{.no_split_modules = {"BasicTransformerBlock", "PatchEmbed"},
                               .skip_layerwise_casting_patterns = {"pos_embed", "adaln_single"},
                               .repeated_blocks = {"BasicTransformerBlock"}};
  // Without parameters of their own the norms are no weights to cast.
  if (config_.norm_elementwise_affine) features.skip_layerwise_casting_patterns.push_back("norm");
  return nn::feature_metadata(*this, features);
}

nn::WeightMap PixArtTransformer2DModel::weight_map() const {
  // Positions are computed; early files hold them, and a placeholder of training.
  return {.renames = {}, .ignored = {"pos_embed.pos_embed", "caption_projection.y_embedding"}};
}

int64_t PixArtTransformer2DModel::out_channels() const {
  int64_t predicted = config_.predicted_channels();
  return predicted / 2 == config_.in_channels ? config_.in_channels : predicted;
}

// What the blocks attend to stays the same through a run, and is made once.
PixArtContext PixArtTransformer2DModel::context(Context& cx, const PixArtInput& input,
                                                const Tensor& modulation) const {
  PixArtContext made{.text = {}, .text_bias = {}, .modulation = modulation};
  made.grid = {input.sample.size(2) / config_.patch_size,
               input.sample.size(3) / config_.patch_size};
  made.text = cx.once("encoder_hidden_states", input.encoder_hidden_states, [&] {
    Tensor text = nn::in_form(cx, input.encoder_hidden_states);
    return caption_projection ? caption_projection->forward(cx, text) : text;
  });
  if (!input.encoder_attention_mask) return made;
  const Tensor& mask = *input.encoder_attention_mask;
  made.text_bias = cx.once("encoder_attention_mask", mask, [&] {
    Tensor kept = nn::in_form(cx, mask);
    Tensor bias = cx.ops().affine(cx, {kept, padding_penalty, -padding_penalty});
    return bias.view({mask.size(0), 1, 1, mask.size(1)});
  });
  return made;
}

auto PixArtTransformer2DModel::enter(Context& cx, const PixArtInput& input) const -> Trunk {
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, config_.patch_size);
  nn::TokenStream tokens{.image = pos_embed.forward(cx, nn::in_form(cx, input.sample))};
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  auto conditions = adaln_single.forward(cx, {timestep, input.resolution, input.aspect_ratio});
  PixArtContext call = context(cx, input, conditions.modulation);
  call.embedded = conditions.embedded;
  const nn::TokenSpan image{0, tokens.image.size(1)};
  return {.tokens = std::move(tokens), .axis = image, .call = std::move(call)};
}

nn::TokenStream PixArtTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                const PixArtContext& call) const {
  return {.image = transformer_blocks[i].forward(cx, x.image, call)};
}

Tensor PixArtTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                       const PixArtContext& call) const {
  Tensor h = nn::normed_by_table(cx, norm_out, tokens, cx[scale_shift_table], call.embedded);
  h = proj_out.forward(cx, h);
  const auto [height, width] = call.grid;
  return nn::image_of_patches(h, height, width, config_.patch_size).narrow(1, 0, out_channels());
}

const nn::NetworkInfo& pixart_transformer_2d_model_info() {
  static const nn::NetworkInfo info =
      info_of("PixArtTransformer2DModel", "the diffusion transformer of PixArt");
  return info;
}

const nn::NetworkInfo& transformer_2d_model_info() {
  static const nn::NetworkInfo info = [] {
    nn::NetworkInfo made =
        info_of("Transformer2DModel", "the diffusion transformer of PixArt, by its first name");
    made.make = [](const Json& json, const std::string& where) {
      if (json.value("norm_type", Json()) != "ada_norm_single") {
        throw Unsupported({where + ".norm_type", json.value("norm_type", Json()).dump(),
                           "of the networks of this name only PixArt's is implemented",
                           "implemented: ada_norm_single"});
      }
      return make_pixart(json, where);
    };
    return made;
  }();
  return info;
}

}  // namespace omnirt
