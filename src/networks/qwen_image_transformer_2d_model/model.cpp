#include "networks/qwen_image_transformer_2d_model/model.hpp"

#include <algorithm>

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
    : DenoiserNetwork(std::move(json)),
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
  Tensor references =
      cx.once(img_in.path(), given, [&] { return img_in.forward(cx, nn::in_form(cx, given)); });
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

// {B, L, D}, those of references after the image that is made.
Tensor QwenImageTransformer2DModel::all_blocks(Context& cx, const QwenImageInput& input,
                                               const Tensor& activated_time, int64_t made) const {
  nn::TextAndImage x{.text = text_tokens(cx, input), .image = image_tokens(cx, input)};
  const Tensor padding = bias(cx, input, x.image);
  nn::QwenImageCall call{.activated = activated_time,
                         .rotary = rotary(cx, input),
                         .bias = padding.defined() ? &padding : nullptr,
                         .made = made,
                         .of_references = {}};
  if (config_.zero_cond_t && input.reference_latents)
    call.of_references = activated(cx, input, 0.0);
  auto go = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      x = transformer_blocks[i].forward(cx, x, call);
      x.image = nn::with_residual(cx, x.image, input.controlnet_block_samples, i);
    }
    return x.image;
  };
  const size_t blocks = transformer_blocks.size(), head = std::min<size_t>(1, blocks);
  const Tensor hidden = cx.block_cache() ? x.image : Tensor();
  return cx.cached_blocks(
      "blocks", hidden, [&] { return go(0, head); }, [&] { return go(head, blocks); });
}

// Of the image that is made, {B, L, channels of a patch}.
Tensor QwenImageTransformer2DModel::patches(Context& cx, const QwenImageInput& input,
                                            int64_t made) const {
  const Tensor activated_time = activated(cx, input);
  const Tensor all = input.made_by_blocks ? nn::in_form(cx, *input.made_by_blocks)
                                          : all_blocks(cx, input, activated_time, made);
  return proj_out.forward(cx, norm_out.forward(cx, all.narrow(1, 0, made), activated_time));
}

Values QwenImageTransformer2DModel::begin(Context& cx, const Values& inputs) const {
  const auto input = nn::fill_inputs<QwenImageInput>(cx, inputs);
  ensure(!input.reference_latents, "{} goes through its blocks without references", class_name());
  const Tensor image = image_tokens(cx, input);
  Values made{{"text", {text_tokens(cx, input)}},
              {"activated", {activated(cx, input)}},
              {"rotary", {rotary(cx, input)}}};
  if (const Tensor padding = bias(cx, input, image); padding.defined()) made["bias"] = {padding};
  made["image"] = {image};
  return made;
}

Values QwenImageTransformer2DModel::through(Context& cx, const Values& state, size_t block) const {
  const Tensor image = nn::in_form(cx, one(state, "image"));
  const Tensor padding = state.contains("bias") ? one(state, "bias") : Tensor();
  const nn::TextAndImage x =
      transformer_blocks[block].forward(cx, {.text = one(state, "text"), .image = image},
                                        {.activated = one(state, "activated"),
                                         .rotary = one(state, "rotary"),
                                         .bias = padding.defined() ? &padding : nullptr,
                                         .made = image.size(1),
                                         .of_references = {}});
  return {{"text", {x.text}}, {"image", {x.image}}};
}

Tensor QwenImageTransformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<QwenImageInput>(cx, inputs);
  const Tensor& text = input.encoder_hidden_states;
  int64_t rows = input.sample.size(0), patch = config_.patch_size;
  int64_t height = input.sample.size(2) / patch, width = input.sample.size(3) / patch;
  ensure(text.size(0) == rows, "{} rows of text for {} samples", text.size(0), rows);
  ensure(input.sample.size(2) % patch == 0 && input.sample.size(3) % patch == 0,
         "latents of {}x{} are no whole patches", input.sample.size(3), input.sample.size(2));
  const Tensor made =
      cx.predicted_output(proj_out.path(), [&] { return patches(cx, input, height * width); });
  return nn::unpacked_patches(nn::image_of(made, height, width), patch);
}

std::vector<nn::NetworkInput> QwenImageTransformer2DModel::inputs() const {
  auto names = nn::input_names<QwenImageInput>();
  auto only_where = [&](const char* name, bool taken) {
    std::erase_if(names, [&](const nn::NetworkInput& each) { return !taken && each.name == name; });
    for (nn::NetworkInput& each : names) each.required |= each.name == name;
  };
  only_where("sample_ids", config_.use_layer3d_rope);
  only_where("additional_t_cond", config_.use_additional_t_cond);
  return names;
}

const nn::NetworkInfo& qwen_image_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "QwenImageTransformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<QwenImageTransformer2DModel>(
            read_qwen_image_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of Qwen-Image",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Qwen-Image's transformer (transformer_blocks.*.img_mod, txt_norm)",
                       .config = qwen_image_config_from_tensors,
                       .layout = [](const auto&) { return std::string("qwen_image"); },
                       .prefixes = {"", "model.diffusion_model.", "diffusion_model."}},
  };
  return info;
}

}  // namespace omnirt
