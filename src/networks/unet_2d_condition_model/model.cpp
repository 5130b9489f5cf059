#include "networks/unet_2d_condition_model/model.hpp"

#include <algorithm>
#include <cstdio>

#include "networks/unet_2d_condition_model/ldm_config.hpp"
#include "networks/unet_2d_condition_model/ldm_layout.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/unet_2d_parts.hpp"

namespace omnirt {
namespace {

// Configs written before diffusers 0.9.0 can name a size below the one that was trained on; the
// reference's pipelines read at least 64 there (pipeline_stable_diffusion.py).
bool says_too_small_a_size(const Json& json) {
  auto version = json.find("_diffusers_version");
  if (version == json.end() || !version->is_string()) return false;
  int major = 0, minor = 0;
  bool read = std::sscanf(version->get<std::string>().c_str(), "%d.%d", &major, &minor) == 2;
  return read && major == 0 && minor < 9;
}

}  // namespace

UNet2DConditionModel::UNet2DConditionModel(const UNet2DConditionConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
      conv_in(this, "conv_in", config.in_channels, config.block_out_channels.front(),
              same_size(config.conv_in_kernel)),
      time_embedding(this, "time_embedding", time_options(config)),
      down_blocks(this, "down_blocks"),
      up_blocks(this, "up_blocks"),
      conv_norm_out(this, "conv_norm_out", config.norm_num_groups,
                    config.block_out_channels.front(), config.norm_eps),
      conv_out(this, "conv_out", config.block_out_channels.front(), config.out_channels,
               same_size(config.conv_out_kernel)),
      config_(config),
      activation_(activation(config.act_fn)) {
  if (config.addition_embed_type)
    add_embedding.emplace(this, "add_embedding", added_options(config));
  add_blocks();
}

void UNet2DConditionModel::add_blocks() {
  std::vector<UNetLevel> levels = unet_levels(config_);
  size_t last = levels.size() - 1;
  for (size_t i = 0; i <= last; ++i) down_blocks.add(down_options(config_, levels, i));
  if (config_.mid_block_type)
    mid_block.emplace(this, "mid_block", mid_options(config_, levels[last]));
  for (size_t i = last + 1; i-- > 0;) {
    nn::UNetLevelOptions options = level_options(config_, levels[i]);
    options.in = levels[i == last ? last : i + 1].channels;
    options.skip = levels[i == 0 ? 0 : i - 1].channels;
    options.layers = levels[i].layers + 1;
    options.depths = levels[i].up_depths;
    options.cross_attention = levels[i].cross_attention_up;
    options.resample = i > 0;
    up_blocks.add(options);
  }
  down_layers_ = places_of(down_blocks);
  up_layers_ = places_of(up_blocks);
}

nn::Metadata UNet2DConditionModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"BasicTransformerBlock", "ResnetBlock2D",
                                                           "CrossAttnUpBlock2D", "UpBlock2D"},
                                      .skip_layerwise_casting_patterns = {"norm"},
                                      .repeated_blocks = {"BasicTransformerBlock"}});
}

// cloneofsimo/lora counts in the order that torch had in early 2023, when feed-forwards came
// between the attentions, and the middle was made last.
nn::AdapterNames UNet2DConditionModel::adapter_names() const {
  return {.prefixes = {},
          .old_names = {{"to_out.0", "to_out"}},
          .numbered_classes = {{"Attention", "Attention"},
                               {"CrossAttention", "Attention"},
                               {"GEGLU", "GEGLU"},
                               {"ResnetBlock2D", "ResnetBlock2D", /*by_default=*/false}},
          .member_order = {{"UNet2DConditionModel", {"down_blocks", "up_blocks", "mid_block"}},
                           {"BasicTransformerBlock", {"attn1", "ff", "attn2"}},
                           {"ResnetBlock2D", {"conv1", "time_emb_proj", "conv2"}}}};
}

std::vector<nn::OriginalLayout> UNet2DConditionModel::original_layouts() const {
  return {ldm_layout(*this)};
}

Tensor UNet2DConditionModel::time_embedded(Context& cx, const UNetInput& input) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  Tensor waves = cx.ops().timestep_embedding(
      cx, {timestep, time_embedding.linear_1.in(), config_.flip_sin_to_cos, config_.freq_shift});
  std::optional<Tensor> cond;
  if (input.timestep_cond) cond = nn::in_form(cx, *input.timestep_cond);
  Tensor temb = time_embedding.forward(cx, nn::in_form(cx, waves), cond ? &*cond : nullptr);
  if (add_embedding) {
    Tensor added =
        text_time_embedding(cx, config_, *add_embedding, *input.text_embeds, *input.time_ids);
    temb = cx.ops().add(cx, {temb, added});
  }
  if (config_.time_embedding_act_fn) {
    temb = cx.ops().activate(cx, {temb, activation(config_.time_embedding_act_fn)});
  }
  return cx.ops().activate(cx, {temb, activation_});
}

void UNet2DConditionModel::check_added(const UNetInput& input) const {
  bool given = input.text_embeds && input.time_ids;
  ensure(given == add_embedding.has_value() && given == (input.text_embeds || input.time_ids),
         "text_embeds and time_ids belong to UNets with addition_embed_type, and only to them");
  if (!given) return;
  int64_t width =
      input.text_embeds->size(1) + input.time_ids->size(1) * *config_.addition_time_embed_dim;
  ensure(width == add_embedding->linear_1.in(), "text_embeds and time_ids make {} values of {}",
         width, add_embedding->linear_1.in());
}

nn::AttentionContext UNet2DConditionModel::attended(Context& cx, const UNetInput& input) const {
  auto formed = [&](const std::string& site, const Tensor& x, auto&& part) {
    return cx.once(site, x, [&] { return nn::in_form(cx, part(x)); });
  };
  auto whole = [](const Tensor& x) { return x; };
  nn::AttentionContext context;
  context.text = formed("encoder_hidden_states", input.encoder_hidden_states.tensor, whole);
  context.rows = input.encoder_hidden_states.rows;
  if (!input.entity_hidden_states) return context;
  ensure(input.entity_weights.has_value(), "entities were given without their weights");
  for (int64_t i = 0; i < input.entity_hidden_states->size(1); ++i) {
    auto one = [i](const Tensor& x) { return x.select(1, i).contiguous(); };
    context.entities.push_back(
        formed("entity " + std::to_string(i), *input.entity_hidden_states, one));
  }
  context.entity_weights = formed("entity_weights", *input.entity_weights, whole);
  context.largest_grid = {input.sample.size(2), input.sample.size(3)};
  return context;
}

Tensor UNet2DConditionModel::forward(Context& cx, const UNetInput& input) const {
  Tensor x = nn::in_form(cx, input.sample);
  if (config_.center_input_sample) x = cx.ops().affine(cx, {x, 2.0, -1.0});
  Walk walk{.x = {},
            .temb = time_embedded(cx, input),
            .context = attended(cx, input),
            .skips = {},
            .input = input};
  nn::ImagePrompts prompts = image_prompts(cx, input);
  if (!input.ip_adapter_keys.empty()) walk.context.images = &prompts;
  walk.x = conv_in.forward(cx, x);
  add_skip(cx, walk);
  // With a step cache, what is below the branch is reused from step to step.
  const SharedStep* cache = cx.step_cache();
  size_t shallow = cache ? std::min(cache->branch + 1, skip_connections()) : 1;
  descend(cx, walk, shallow);
  walk.x = cx.shared_segment("deep", [&] {
    descend(cx, walk, skip_connections());
    walk.x = middle(cx, walk);
    ascend(cx, walk, shallow);
    return walk.x;
  });
  ascend(cx, walk, 0);
  walk.x = conv_norm_out.forward(cx, walk.x, activation_);
  return conv_out.forward(cx, walk.x);
}

// The first is conv_in's.
size_t UNet2DConditionModel::skip_connections() const {
  return 1 + down_layers_.size();
}

void UNet2DConditionModel::descend(Context& cx, Walk& walk, size_t to) const {
  const auto& within = walk.input.down_intrablock_additional_residuals;
  while (walk.skips.size() < to) {
    auto [block, layer] = down_layers_[walk.skips.size() - 1];
    walk.x = down_blocks[block].layer(cx, layer, walk.x, walk.temb, walk.context);
    if (block < within.size() && layer == down_blocks[block].residual_layer())
      walk.x = cx.ops().add(cx, {walk.x, nn::in_form(cx, within[block])});
    add_skip(cx, walk);
  }
}

// The current x becomes a skip connection, with what a ControlNet adds to it.
void UNet2DConditionModel::add_skip(Context& cx, Walk& walk) const {
  const auto& residuals = walk.input.down_block_additional_residuals;
  size_t place = walk.skips.size();
  if (place < residuals.size())
    walk.skips.push_back(cx.ops().add(cx, {walk.x, nn::in_form(cx, residuals[place])}));
  else
    walk.skips.push_back(walk.x);
}

Tensor UNet2DConditionModel::middle(Context& cx, const Walk& walk) const {
  Tensor x = walk.x;
  if (mid_block) {
    x = mid_block->forward(cx, x, walk.temb, walk.context);
    // An adapter with one feature more than there are down blocks.
    const auto& within = walk.input.down_intrablock_additional_residuals;
    if (within.size() > down_blocks.size() && within[down_blocks.size()].sizes() == x.sizes())
      x = cx.ops().add(cx, {x, nn::in_form(cx, within[down_blocks.size()])});
  }
  const auto& residual = walk.input.mid_block_additional_residual;
  return residual ? cx.ops().add(cx, {x, nn::in_form(cx, *residual)}) : x;
}

void UNet2DConditionModel::ascend(Context& cx, Walk& walk, size_t to) const {
  while (walk.skips.size() > to) {
    auto [block, layer] = up_layers_[skip_connections() - walk.skips.size()];
    walk.x = up_blocks[block].layer(cx, layer, walk.x, walk.temb, walk.context, walk.skips);
  }
}

Tensor UNet2DConditionModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<UNetInput>(cx, inputs);
  int64_t rows = input.sample.size(0);
  ensure(input.encoder_hidden_states.count() == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.count(), rows);
  check_added(input);
  size_t residuals = input.down_block_additional_residuals.size();
  ensure(residuals == 0 || residuals == skip_connections(), "{} residuals for {} skip connections",
         residuals, skip_connections());
  return forward(cx, input);
}

std::vector<nn::NetworkInput> UNet2DConditionModel::inputs() const {
  auto names = nn::input_names<UNetInput>();
  std::erase_if(names, [this](const auto& input) {
    bool added = input.name == "text_embeds" || input.name == "time_ids";
    return (added && !add_embedding) || (input.name == "timestep_cond" && !time_cond_dim());
  });
  for (nn::NetworkInput& input : names)
    input.required = input.required || input.name == "text_embeds" || input.name == "time_ids";
  return names;
}

std::array<int64_t, 2> UNet2DConditionModel::sample_size() const {
  if (!config_.sample_size) return {0, 0};
  if (const auto* single = std::get_if<int64_t>(&*config_.sample_size)) {
    int64_t side = says_too_small_a_size(config()) ? std::max<int64_t>(*single, 64) : *single;
    return {side, side};
  }
  const auto& sides = std::get<std::vector<int64_t>>(*config_.sample_size);
  return {sides[0], sides[1]};
}

int64_t UNet2DConditionModel::context_dim() const {
  return unet_levels(config_).front().context_dim;
}

const nn::NetworkInfo& unet_2d_condition_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "UNet2DConditionModel",
      .make = nn::network_of<UNet2DConditionModel, read_unet_2d_condition_config>,
      .summary = "the denoising UNet of Stable Diffusion",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "an original UNet (input_blocks.*, output_blocks.*)",
                       .config = ldm_unet_config_alone,
                       .layout = [](const auto&) { return std::string("ldm"); },
                       .prefixes = {"", "model.diffusion_model.", "model."}},
      .gguf = {{"label_emb.0.0.", "sdxl"}, {"input_blocks.0.0.", "sd1"}},
  };
  return info;
}

}  // namespace omnirt
