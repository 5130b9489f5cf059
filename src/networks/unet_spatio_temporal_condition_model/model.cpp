#include "networks/unet_spatio_temporal_condition_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double out_norm_eps = 1e-5;
constexpr bool flip_sin_to_cos = true;

int64_t time_dim(const UNetSpatioTemporalConfig& config) {
  return 4 * config.block_out_channels.front();
}

}  // namespace

UNetSpatioTemporalConditionModel::UNetSpatioTemporalConditionModel(
    const UNetSpatioTemporalConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
      conv_in(this, "conv_in", config.in_channels, config.block_out_channels.front()),
      time_embedding(this, "time_embedding",
                     {.in = config.block_out_channels.front(), .out = time_dim(config)}),
      add_embedding(this, "add_embedding",
                    {.in = config.projection_class_embeddings_input_dim, .out = time_dim(config)}),
      down_blocks(this, "down_blocks"),
      up_blocks(this, "up_blocks"),
      conv_norm_out(this, "conv_norm_out", spatio_temporal_groups,
                    config.block_out_channels.front(), out_norm_eps),
      conv_out(this, "conv_out", config.block_out_channels.front(), config.out_channels),
      config_(config) {
  add_blocks();
}

SpatioTemporalBlockOptions UNetSpatioTemporalConditionModel::level_options(
    const SpatioTemporalLevel& level) const {
  return {.out = level.channels,
          .layers = level.layers,
          .temb = time_dim(config_),
          .transformer = {.heads = level.heads,
                          .head_dim = level.channels / level.heads,
                          .context_dim = level.context_dim,
                          .layers = level.transformer_layers}};
}

void UNetSpatioTemporalConditionModel::add_blocks() {
  std::vector<SpatioTemporalLevel> levels = spatio_temporal_levels(config_);
  size_t last = levels.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    SpatioTemporalBlockOptions options = level_options(levels[i]);
    options.in = levels[i == 0 ? 0 : i - 1].channels;
    options.cross_attention = levels[i].cross_attention_down;
    options.resample = i < last;
    down_blocks.add(options);
  }
  SpatioTemporalBlockOptions lowest = level_options(levels[last]);
  lowest.in = levels[last].channels;
  mid_block.emplace(this, "mid_block", lowest);
  for (size_t i = last + 1; i-- > 0;) {
    SpatioTemporalBlockOptions options = level_options(levels[i]);
    options.in = levels[i == last ? last : i + 1].channels;
    options.skip = levels[i == 0 ? 0 : i - 1].channels;
    options.layers = levels[i].layers + 1;
    options.cross_attention = levels[i].cross_attention_up;
    options.resample = i > 0;
    up_blocks.add(options);
  }
}

nn::Metadata UNetSpatioTemporalConditionModel::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {"BasicTransformerBlock", "TemporalBasicTransformerBlock",
                                   "SpatioTemporalResBlock"},
              .skip_layerwise_casting_patterns = {"norm"},
              .repeated_blocks = {"BasicTransformerBlock", "TemporalBasicTransformerBlock"}});
}

Tensor UNetSpatioTemporalConditionModel::time_embedded(Context& cx,
                                                       const UNetSpatioTemporalInput& input) const {
  int64_t videos = input.sample.size(0);
  Tensor timestep = input.timestep.to(at::kFloat).expand({videos});
  Tensor waves = cx.ops().timestep_embedding(
      cx, {timestep, time_embedding.linear_1.in(), flip_sin_to_cos, 0.0});
  Tensor temb = time_embedding.forward(cx, nn::in_form(cx, waves), nullptr);
  Tensor added = cx.once("added_time_ids", input.added_time_ids, [&] {
    Tensor ids = input.added_time_ids.to(at::kFloat).flatten();
    Tensor each = cx.ops().timestep_embedding(
        cx, {ids, config_.addition_time_embed_dim, flip_sin_to_cos, 0.0});
    return add_embedding.forward(cx, nn::in_form(cx, each.view({videos, -1})), nullptr);
  });
  return cx.ops().activate(cx, {cx.ops().add(cx, {temb, added}), ops::Activation::silu});
}

VideoCall UNetSpatioTemporalConditionModel::call_of(Context& cx,
                                                    const UNetSpatioTemporalInput& input) const {
  VideoCall call;
  call.frames = input.sample.size(1);
  call.time.videos = time_embedded(cx, input);
  call.time.frames = nn::each_frame(call.time.videos, call.frames);
  const Tensor& given = input.encoder_hidden_states;
  call.context = cx.once("encoder_hidden_states", given, [&] { return nn::in_form(cx, given); });
  call.frame_context.text = cx.once("encoder_hidden_states by frame", given,
                                    [&] { return nn::each_frame(call.context, call.frames); });
  return call;
}

Tensor UNetSpatioTemporalConditionModel::forward(Context& cx,
                                                 const UNetSpatioTemporalInput& input) const {
  VideoCall call = call_of(cx, input);
  Tensor x = nn::in_form(cx, input.sample.flatten(0, 1));
  if (input.image_latents)
    x = cx.ops().concat(cx, {x, nn::in_form(cx, input.image_latents->flatten(0, 1))});
  x = conv_in.forward(cx, x);
  std::vector<Tensor> skips{x};
  for (size_t i = 0; i < down_blocks.size(); ++i)
    x = down_blocks[i].forward(cx, std::move(x), call, skips);
  x = mid_block->forward(cx, std::move(x), call);
  for (size_t i = 0; i < up_blocks.size(); ++i)
    x = up_blocks[i].forward(cx, std::move(x), call, skips);
  x = conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
  return x.unflatten(0, {input.sample.size(0), call.frames});
}

Tensor UNetSpatioTemporalConditionModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<UNetSpatioTemporalInput>(cx, inputs);
  int64_t videos = input.sample.size(0);
  ensure(input.sample.dim() == 5, "a video is {{B, F, C, H, W}}, not of {} dimensions",
         input.sample.dim());
  ensure(input.encoder_hidden_states.size(0) == videos && input.added_time_ids.size(0) == videos,
         "{} rows of context and {} of time ids for {} videos", input.encoder_hidden_states.size(0),
         input.added_time_ids.size(0), videos);
  int64_t width = input.added_time_ids.size(1) * config_.addition_time_embed_dim;
  ensure(width == config_.projection_class_embeddings_input_dim,
         "{} time ids, where the network was made for {}", input.added_time_ids.size(1),
         config_.projection_class_embeddings_input_dim / config_.addition_time_embed_dim);
  return forward(cx, input);
}

std::vector<nn::NetworkInput> UNetSpatioTemporalConditionModel::inputs() const {
  return nn::input_names<UNetSpatioTemporalInput>();
}

std::array<int64_t, 2> UNetSpatioTemporalConditionModel::sample_size() const {
  if (!config_.sample_size) return {0, 0};
  if (const auto* single = std::get_if<int64_t>(&*config_.sample_size)) return {*single, *single};
  const auto& sides = std::get<std::vector<int64_t>>(*config_.sample_size);
  return {sides[0], sides[1]};
}

int64_t UNetSpatioTemporalConditionModel::context_dim() const {
  return spatio_temporal_levels(config_).front().context_dim;
}

const nn::NetworkInfo& unet_spatio_temporal_condition_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "UNetSpatioTemporalConditionModel",
      .make = nn::network_of<UNetSpatioTemporalConditionModel, read_unet_spatio_temporal_config>,
      .summary = "the denoising UNet of Stable Video Diffusion",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
  };
  return info;
}

}  // namespace omnirt
