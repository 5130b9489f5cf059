#include "networks/unet_2d_condition_model/model.hpp"

#include <algorithm>
#include <cstdio>

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

int64_t time_dim(const UNet2DConditionConfig& config) {
  return config.time_embedding_dim.value_or(4 * config.block_out_channels.front());
}

ops::Activation activation(const std::optional<std::string>& name) {
  return name ? ops::activation_from_name(*name, "activation") : ops::Activation::none;
}

// Configs written before diffusers 0.9.0 can name a size below the one that was trained on; the
// reference's pipelines read at least 64 there (pipeline_stable_diffusion.py).
bool says_too_small_a_size(const Json& json) {
  auto version = json.find("_diffusers_version");
  if (version == json.end() || !version->is_string()) return false;
  int major = 0, minor = 0;
  bool read = std::sscanf(version->get<std::string>().c_str(), "%d.%d", &major, &minor) == 2;
  return read && major == 0 && minor < 9;
}

nn::Conv2dOptions same_size(int64_t kernel) {
  int64_t padding = (kernel - 1) / 2;
  return {.kernel = kernel, .padding = {padding, padding, padding, padding}};
}

nn::TimestepEmbeddingOptions time_options(const UNet2DConditionConfig& config) {
  return {.in = config.block_out_channels.front(),
          .out = time_dim(config),
          .cond = config.time_cond_proj_dim.value_or(0),
          .activation = activation(config.act_fn),
          .post_activation = activation(config.timestep_post_act)};
}

nn::UNetLevelOptions level_options(const UNet2DConditionConfig& config, const UNetLevel& level) {
  return {.out = level.channels,
          .layers = level.layers,
          .resnet = {.temb = time_dim(config),
                     .groups = config.norm_num_groups,
                     .eps = config.norm_eps,
                     .activation = activation(config.act_fn),
                     .scale_shift = config.resnet_time_scale_shift == "scale_shift"},
          .transformer = {.heads = level.heads,
                          .head_dim = level.channels / level.heads,
                          .context_dim = level.context_dim,
                          .only_cross_attention = level.only_cross_attention,
                          .upcast_attention = config.upcast_attention.value_or(false),
                          .linear_projection = config.use_linear_projection,
                          .norm_groups = config.norm_num_groups,
                          .layers = level.transformer_layers},
          .downsample_padding = config.downsample_padding};
}

nn::UNetLevelOptions mid_options(const UNet2DConditionConfig& config, const UNetLevel& lowest) {
  nn::UNetLevelOptions options = level_options(config, lowest);
  options.in = lowest.channels;
  options.cross_attention = *config.mid_block_type == "UNetMidBlock2DCrossAttn";
  options.transformer.only_cross_attention = false;
  options.resnet.output_scale_factor = config.mid_block_scale_factor;
  return options;
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
  add_blocks();
}

void UNet2DConditionModel::add_blocks() {
  std::vector<UNetLevel> levels = unet_levels(config_);
  size_t last = levels.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    nn::UNetLevelOptions options = level_options(config_, levels[i]);
    options.in = levels[i == 0 ? 0 : i - 1].channels;
    options.cross_attention = levels[i].cross_attention_down;
    options.resample = i < last;
    down_blocks.add(options);
  }
  if (config_.mid_block_type)
    mid_block.emplace(this, "mid_block", mid_options(config_, levels[last]));
  for (size_t i = last + 1; i-- > 0;) {
    nn::UNetLevelOptions options = level_options(config_, levels[i]);
    options.in = levels[i == last ? last : i + 1].channels;
    options.skip = levels[i == 0 ? 0 : i - 1].channels;
    options.layers = levels[i].layers + 1;
    options.cross_attention = levels[i].cross_attention_up;
    options.resample = i > 0;
    up_blocks.add(options);
  }
}

nn::Metadata UNet2DConditionModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"BasicTransformerBlock", "ResnetBlock2D",
                                                           "CrossAttnUpBlock2D", "UpBlock2D"},
                                      .skip_layerwise_casting_patterns = {"norm"},
                                      .repeated_blocks = {"BasicTransformerBlock"},
                                      .cache = true});
}

Tensor UNet2DConditionModel::time_embedded(Context& cx, const UNetInput& input) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  Tensor waves = cx.ops().timestep_embedding(
      cx, {timestep, time_embedding.linear_1.in(), config_.flip_sin_to_cos, config_.freq_shift});
  std::optional<Tensor> cond;
  if (input.timestep_cond) cond = nn::in_form(cx, *input.timestep_cond);
  Tensor temb = time_embedding.forward(cx, nn::in_form(cx, waves), cond ? &*cond : nullptr);
  if (config_.time_embedding_act_fn) {
    temb = cx.ops().activate(cx, {temb, activation(config_.time_embedding_act_fn)});
  }
  return cx.ops().activate(cx, {temb, activation_});
}

Tensor UNet2DConditionModel::forward(Context& cx, const UNetInput& input) const {
  Tensor x = nn::in_form(cx, input.sample);
  if (config_.center_input_sample) x = cx.ops().affine(cx, {x, 2.0, -1.0});
  Walk walk{.x = {},
            .temb = time_embedded(cx, input),
            .context = cx.once("encoder_hidden_states", input.encoder_hidden_states,
                               [&] { return nn::in_form(cx, input.encoder_hidden_states); }),
            .skips = {}};
  walk.x = conv_in.forward(cx, x);
  walk.skips.push_back(walk.x);
  // With a step cache, what lies below the branch is taken over from step to step.
  const SharedStep* cache = cx.step_cache();
  size_t shallow = cache ? std::min(cache->branch + 1, skip_connections()) : 1;
  descend(cx, walk, shallow);
  walk.x = cx.shared_segment("deep", [&] {
    descend(cx, walk, skip_connections());
    if (mid_block) walk.x = mid_block->forward(cx, walk.x, walk.temb, walk.context);
    ascend(cx, walk, shallow);
    return walk.x;
  });
  ascend(cx, walk, 0);
  walk.x = conv_norm_out.forward(cx, walk.x, activation_);
  return conv_out.forward(cx, walk.x);
}

size_t UNet2DConditionModel::skip_connections() const {
  size_t count = 1;  // conv_in
  for (size_t i = 0; i < down_blocks.size(); ++i) count += down_blocks[i].layers();
  return count;
}

void UNet2DConditionModel::descend(Context& cx, Walk& walk, size_t to) const {
  size_t made = 0;  // the skip connection of the layer at hand
  for (size_t block = 0; block < down_blocks.size(); ++block) {
    for (size_t i = 0; i < down_blocks[block].layers(); ++i) {
      if (++made != walk.skips.size() || made >= to) continue;
      walk.x = down_blocks[block].layer(cx, i, walk.x, walk.temb, walk.context);
      walk.skips.push_back(walk.x);
    }
  }
}

void UNet2DConditionModel::ascend(Context& cx, Walk& walk, size_t to) const {
  size_t taken = skip_connections();
  for (size_t block = 0; block < up_blocks.size(); ++block) {
    for (size_t i = 0; i < up_blocks[block].layers(); ++i) {
      if (--taken + 1 != walk.skips.size() || taken < to) continue;
      walk.x = up_blocks[block].layer(cx, i, walk.x, walk.temb, walk.context, walk.skips);
    }
  }
}

Tensor UNet2DConditionModel::predict(Context& cx, const nn::NamedTensors& inputs) const {
  auto input = nn::fill_inputs<UNetInput>(inputs);
  int64_t rows = input.sample.size(0);
  ensure(input.encoder_hidden_states.size(0) == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.size(0), rows);
  return forward(cx, input);
}

std::vector<nn::NetworkInput> UNet2DConditionModel::inputs() const {
  auto names = nn::input_names<UNetInput>();
  if (!time_cond_dim()) {
    std::erase_if(names, [](const auto& input) { return input.name == "timestep_cond"; });
  }
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
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<UNet2DConditionModel>(read_unet_2d_condition_config(json, where),
                                                      json);
      },
      .summary = "the denoising UNet of Stable Diffusion",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
  };
  return info;
}

}  // namespace omnirt
