#pragma once
#include "nn/blocks/time_embedding.hpp"
#include "nn/blocks/unet_2d_blocks.hpp"
#include "nn/unet_2d_config.hpp"

// What a UNet's parts are made of, by its config; also for networks that copy its down path
// (ControlNetModel).
namespace omnirt {

// Width of the time embedding that every resnet takes.
int64_t time_dim(const UNet2DConditionConfig& config);
// None where there is no name. Throws Unsupported for a name that is not known.
ops::Activation activation(const std::optional<std::string>& name);
// A convolution that keeps the size of its image.
nn::Conv2dOptions same_size(int64_t kernel);

nn::TimestepEmbeddingOptions time_options(const UNet2DConditionConfig& config);
// Of a config with addition_embed_type text_time.
nn::TimestepEmbeddingOptions added_options(const UNet2DConditionConfig& config);
// What such a network adds to the time embedding, {B, temb}: of text_embeds {B, P} and the numbers
// time_ids {B, N} (Podell et al. 2023, arXiv 2307.01952).
Tensor text_time_embedding(Context& cx, const UNet2DConditionConfig& config,
                           const nn::TimestepEmbedding& embedding, const Tensor& text_embeds,
                           const Tensor& time_ids);
nn::UNetLevelOptions level_options(const UNet2DConditionConfig& config, const UNetLevel& level);
// The levels' blocks on the down path, by their place from the top.
nn::UNetLevelOptions down_options(const UNet2DConditionConfig& config,
                                  const std::vector<UNetLevel>& levels, size_t place);
// Of a config that has a mid block.
nn::UNetLevelOptions mid_options(const UNet2DConditionConfig& config, const UNetLevel& lowest);

}  // namespace omnirt
