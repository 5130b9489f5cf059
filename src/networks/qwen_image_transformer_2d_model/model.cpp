#include "networks/qwen_image_transformer_2d_model/model.hpp"

#include "networks/qwen_image_transformer_2d_model/from_tensors.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {
const Tensor* given(const std::optional<Tensor>& tensor) {
  return tensor ? &*tensor : nullptr;
}

}  // namespace

QwenImageTransformer2DModel::QwenImageTransformer2DModel(const QwenImageTransformer2DConfig& config,
                                                         Json json)
    : Transformer(std::move(json)),
      time_text_embed(this, "time_text_embed", config.inner_dim(), config.use_additional_t_cond),
      txt_norm(this, "txt_norm", config.joint_attention_dim, 1e-6),
      img_in(this, "img_in", config.in_channels, config.inner_dim()),
      txt_in(this, "txt_in", config.joint_attention_dim, config.inner_dim()),
      transformer_blocks(this, "transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim()),
      proj_out(this, "proj_out", config.inner_dim(),
               config.patch_area() * config.predicted_channels()),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
  set_blocks(transformer_blocks);
}

nn::Metadata QwenImageTransformer2DModel::metadata() const {
  // The reference names pos_embed as well, which has no weights to cast.
  return nn::feature_metadata(*this, {.no_split_modules = {"QwenImageTransformerBlock"},
                                      .skip_layerwise_casting_patterns = {"norm"},
                                      .repeated_blocks = {"QwenImageTransformerBlock"}});
}

// Files of the original code and GGUF files have the reference's names.
std::vector<nn::OriginalLayout> QwenImageTransformer2DModel::original_layouts() const {
  return {{"qwen_image", {{"", ""}}}};
}

Tensor QwenImageTransformer2DModel::image_tokens(Context& cx, const QwenImageInput& input) const {
  Tensor patches = nn::packed_patches(input.sample, config_.patch_size);
  Tensor made = img_in.forward(cx, nn::tokens_of(nn::in_form(cx, patches)));
  if (!input.reference_latents) return made;
  const Tensor& given = *input.reference_latents;
  Tensor references = img_in.forward_once(cx, given);
  return cx.ops().concat(cx, {made, references});
}

// What stays the same through a run is embedded once.
Tensor QwenImageTransformer2DModel::text_tokens(Context& cx, const QwenImageInput& input) const {
  auto embedded = [&](const Tensor& text) {
    return cx.once(txt_in.path(), text,
                   [&] { return txt_in.forward(cx, txt_norm.forward(cx, nn::in_form(cx, text))); });
  };
  Tensor text = embedded(input.encoder_hidden_states);
  if (!input.entity_hidden_states) return text;
  Tensor entities = embedded(*input.entity_hidden_states);
  return cx.ops().concat(cx, {entities, text});
}

// Undefined where all tokens look at all.
Tensor QwenImageTransformer2DModel::bias(Context& cx, const QwenImageInput& input,
                                         const Tensor& image) const {
  if (input.attention_bias)
    return cx.once("attention_bias", *input.attention_bias,
                   [&] { return nn::in_form(cx, *input.attention_bias).unsqueeze(1); });
  if (!input.encoder_attention_mask) return {};
  return nn::qwen_image_bias(cx, *input.encoder_attention_mask, image);
}

Tensor QwenImageTransformer2DModel::activated(Context& cx, const QwenImageInput& input,
                                              double share) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  if (share != 1.0) timestep = cx.ops().affine(cx, {timestep, share, 0.0});
  const Tensor temb = time_text_embed.forward(cx, timestep, given(input.additional_t_cond));
  return cx.ops().activate(cx, {temb, ops::Activation::silu});
}

Tensor QwenImageTransformer2DModel::rotary(Context& cx, const QwenImageInput& input) const {
  return nn::qwen_image_rotary(cx, config_.axes_dims_rope,
                               {.text = input.encoder_hidden_states,
                                .height = input.sample.size(2) / config_.patch_size,
                                .width = input.sample.size(3) / config_.patch_size,
                                .text_start = given(input.text_start),
                                .text_ids = given(input.text_ids),
                                .reference_ids = given(input.reference_ids),
                                .sample_ids = given(input.sample_ids)});
}

auto QwenImageTransformer2DModel::enter(Context& cx, const QwenImageInput& input) const -> Trunk {
  const int64_t patch = config_.patch_size;
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, patch);
  const int64_t height = input.sample.size(2) / patch, width = input.sample.size(3) / patch;
  const Tensor at_time = activated(cx, input);
  nn::TokenStream tokens{.text = text_tokens(cx, input), .image = image_tokens(cx, input)};
  nn::QwenImageCall call{.activated = at_time,
                         .rotary = rotary(cx, input),
                         .bias = bias(cx, input, tokens.image),
                         .height = height,
                         .width = width,
                         .of_references = {}};
  if (config_.zero_cond_t && input.reference_latents)
    call.of_references = activated(cx, input, 0.0);
  const int64_t images = tokens.image.size(1);
  return {.tokens = std::move(tokens),
          .axis = {{0, height * width}, {0, images}},
          .call = std::move(call)};
}

nn::TokenStream QwenImageTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                   const nn::QwenImageCall& call) const {
  return transformer_blocks[i].forward(cx, x, call);
}

Tensor QwenImageTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                          const nn::QwenImageCall& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.activated));
  return nn::unpacked_patches(nn::image_of(made, call.height, call.width), config_.patch_size);
}

Values QwenImageTransformer2DModel::saved_call(const nn::QwenImageCall& call) const {
  ensure(!call.of_references.defined(), "reference images have modulations of their own");
  Values saved{{"activated", {call.activated}}, {"rotary", {call.rotary}}};
  if (call.bias.defined()) saved["bias"] = {call.bias};
  return saved;
}

nn::QwenImageCall QwenImageTransformer2DModel::restored_call(const Values& saved) const {
  const Tensor& sample = one(saved, "sample");
  return {.activated = one(saved, "activated"),
          .rotary = one(saved, "rotary"),
          .bias = saved.contains("bias") ? one(saved, "bias") : Tensor(),
          .height = sample.size(2) / config_.patch_size,
          .width = sample.size(3) / config_.patch_size,
          .of_references = {}};
}

const nn::NetworkInfo& qwen_image_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "QwenImageTransformer2DModel",
      .make = nn::network_of<QwenImageTransformer2DModel, read_qwen_image_transformer_2d_config>,
      .summary = "the diffusion transformer of Qwen-Image",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Qwen-Image's transformer (transformer_blocks.*.img_mod, txt_norm)",
                       .config = qwen_image_config_from_tensors,
                       .layout = [](const auto&) { return std::string("qwen_image"); },
                       .prefixes = {"", "model.diffusion_model.", "diffusion_model."}},
      .gguf = {{"transformer_blocks.0.img_mod.", "qwen_image"}},
  };
  return info;
}

}  // namespace omnirt
