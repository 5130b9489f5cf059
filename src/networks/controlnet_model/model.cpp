#include "networks/controlnet_model/model.hpp"

#include "base/ensure.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/unet_2d_parts.hpp"

namespace omnirt {
namespace {

nn::ControlEmbeddingOptions embedding_options(const ControlNetConfig& config) {
  return {.in = config.conditioning_channels,
          .channels = config.conditioning_embedding_out_channels,
          .out = config.unet.block_out_channels.front()};
}

}  // namespace

ControlNetModel::ControlNetModel(const ControlNetConfig& config, Json json)
    : Network(std::move(json)),
      conv_in(this, "conv_in", config.unet.in_channels, config.unet.block_out_channels.front()),
      time_embedding(this, "time_embedding", time_options(config.unet)),
      controlnet_cond_embedding(this, "controlnet_cond_embedding", embedding_options(config)),
      down_blocks(this, "down_blocks"),
      controlnet_down_blocks(this, "controlnet_down_blocks"),
      mid_block(this, "mid_block", mid_options(config.unet, unet_levels(config.unet).back())),
      controlnet_mid_block(this, "controlnet_mid_block", config.unet.block_out_channels.back(),
                           config.unet.block_out_channels.back(), nn::conv1x1),
      config_(config) {
  if (config.unet.addition_embed_type)
    add_embedding.emplace(this, "add_embedding", added_options(config.unet));
  std::vector<UNetLevel> levels = unet_levels(config.unet);
  controlnet_down_blocks.add(levels[0].channels, levels[0].channels, nn::conv1x1);
  for (size_t i = 0; i < levels.size(); ++i) {
    const auto& block = down_blocks.add(down_options(config.unet, levels, i));
    for (size_t layer = 0; layer < block.layers(); ++layer)
      controlnet_down_blocks.add(levels[i].channels, levels[i].channels, nn::conv1x1);
  }
}

nn::Metadata ControlNetModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"BasicTransformerBlock", "ResnetBlock2D"},
                               .repeated_blocks = {"BasicTransformerBlock"}});
}

Tensor ControlNetModel::time_embedded(Context& cx, const ControlNetInput& input) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  Tensor waves =
      cx.ops().timestep_embedding(cx, {timestep, time_embedding.linear_1.in(),
                                       config_.unet.flip_sin_to_cos, config_.unet.freq_shift});
  Tensor temb = time_embedding.forward(cx, nn::in_form(cx, waves), nullptr);
  if (add_embedding) {
    ensure(input.text_embeds && input.time_ids, "a ControlNet wants text_embeds and time_ids");
    Tensor added =
        text_time_embedding(cx, config_.unet, *add_embedding, *input.text_embeds, *input.time_ids);
    temb = cx.ops().add(cx, {temb, added});
  }
  return cx.ops().activate(cx, {temb, activation(config_.unet.act_fn)});
}

Tensor ControlNetModel::condition(Context& cx, const Tensor& image) const {
  return cx.once(controlnet_cond_embedding.path(), image, [&] {
    bool flipped = config_.controlnet_conditioning_channel_order == "bgr";
    // allocates: once per run.
    Tensor channels = flipped ? image.flip({1}) : image;
    return controlnet_cond_embedding.forward(cx, nn::in_form(cx, channels));
  });
}

ControlNetOutput ControlNetModel::forward(Context& cx, const ControlNetInput& input) const {
  ControlNetOutput output;
  auto& residuals = output.down_block_res_samples;
  Tensor temb = time_embedded(cx, input);
  const nn::DistinctRows& text = input.encoder_hidden_states;
  nn::AttentionContext context{.text = cx.once("encoder_hidden_states", text.tensor,
                                               [&] { return nn::in_form(cx, text.tensor); }),
                               .rows = text.rows};
  Tensor control = condition(cx, input.controlnet_cond);
  Tensor x = conv_in.forward(cx, nn::in_form(cx, input.sample));
  x = cx.ops().add(cx, {x, control});
  residuals.push_back(controlnet_down_blocks[0].forward(cx, x));
  for (size_t block = 0; block < down_blocks.size(); ++block) {
    for (size_t i = 0; i < down_blocks[block].layers(); ++i) {
      x = down_blocks[block].layer(cx, i, x, temb, context);
      residuals.push_back(controlnet_down_blocks[residuals.size()].forward(cx, x));
    }
  }
  x = mid_block.forward(cx, x, temb, context);
  output.mid_block_res_sample = controlnet_mid_block.forward(cx, x);
  return output;
}

std::vector<std::array<int64_t, 3>> ControlNetModel::residual_shapes(int64_t height,
                                                                     int64_t width) const {
  std::vector<std::array<int64_t, 3>> shapes;
  // A convolution of stride 2 rounds up, or down where it pads one side only.
  auto halved = [this](int64_t side) { return (side + config_.unet.downsample_padding) / 2; };
  shapes.push_back({controlnet_down_blocks[0].out(), height, width});
  for (size_t block = 0; block < down_blocks.size(); ++block) {
    for (size_t i = 0; i < down_blocks[block].layers(); ++i) {
      if (i == down_blocks[block].resnets.size()) {
        height = halved(height);
        width = halved(width);
      }
      shapes.push_back({controlnet_down_blocks[shapes.size()].out(), height, width});
    }
  }
  shapes.push_back({controlnet_mid_block.out(), height, width});
  return shapes;
}

int64_t ControlNetModel::scale_factor() const {
  return controlnet_cond_embedding.scale();
}

int64_t ControlNetModel::context_dim() const {
  return unet_levels(config_.unet).front().context_dim;
}

const nn::NetworkInfo& controlnet_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "ControlNetModel",
      .make = nn::network_of<ControlNetModel, read_controlnet_config>,
      .summary = "a control image's way into Stable Diffusion's UNet",
      .weights_base = "diffusion_pytorch_model",
      .role = "controlnet",
  };
  return info;
}

}  // namespace omnirt
