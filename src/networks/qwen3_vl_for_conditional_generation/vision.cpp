#include "networks/qwen3_vl_for_conditional_generation/vision.hpp"

#include <algorithm>
#include <cmath>

#include "nn/blocks/vision_parts.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

// In the reference's code, not in the config.
constexpr double qwen3_vl_vision_eps = 1e-6;
constexpr double qwen3_vl_vision_theta = 10000;

int64_t qwen3_vl_square_width(const Qwen3VLVisionConfig& config) {
  return config.hidden_size * config.spatial_merge_size * config.spatial_merge_size;
}

}  // namespace

Qwen3VLVisionPatchEmbed::Qwen3VLVisionPatchEmbed(Module* parent, const std::string& name,
                                                 const Qwen3VLVisionConfig& config)
    : Module(parent, name),
      weight(
          param("proj.weight", {config.hidden_size, config.in_channels, config.temporal_patch_size,
                                config.patch_size, config.patch_size})),
      bias(param("proj.bias", {config.hidden_size})) {
  own(weight);
  own(bias);
}

Tensor Qwen3VLVisionPatchEmbed::forward(Context& cx, const Tensor& patches) const {
  const Tensor matrix = cx[weight].view({weight.shape[0], -1});
  return cx.ops().linear(
      cx, {.x = patches, .weight = matrix, .bias = cx.maybe(bias), .pack = cx.packing(weight)});
}

Qwen3VLVisionAttention::Qwen3VLVisionAttention(Module* parent, const std::string& name,
                                               const Qwen3VLVisionConfig& config)
    : Module(parent, name),
      qkv(this, "qkv", config.hidden_size, 3 * config.hidden_size),
      proj(this, "proj", config.hidden_size, config.hidden_size),
      heads_(config.num_heads) {}

Tensor Qwen3VLVisionAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                       const Tensor& residual) const {
  const double scale = 1.0 / std::sqrt(static_cast<double>(x.size(2) / heads_));
  const auto [query, key, value] = nn::vision_heads(cx, qkv.forward(cx, x), rotary, heads_);
  const Tensor y = cx.ops().attention(cx, {query, key, value, heads_, scale});
  return proj.forward(cx, y, ops::Activation::none, &residual);
}

Qwen3VLVisionMLP::Qwen3VLVisionMLP(Module* parent, const std::string& name,
                                   const Qwen3VLVisionConfig& config)
    : Module(parent, name),
      linear_fc1(this, "linear_fc1", config.hidden_size, config.intermediate_size),
      linear_fc2(this, "linear_fc2", config.intermediate_size, config.hidden_size),
      activation_(ops::activation_from_name(config.hidden_act, "vision_config.hidden_act")) {}

Tensor Qwen3VLVisionMLP::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  return linear_fc2.forward(cx, linear_fc1.forward(cx, x, activation_), ops::Activation::none,
                            &residual);
}

Qwen3VLVisionBlock::Qwen3VLVisionBlock(Module* parent, const std::string& name,
                                       const Qwen3VLVisionConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.hidden_size, qwen3_vl_vision_eps),
      norm2(this, "norm2", config.hidden_size, qwen3_vl_vision_eps),
      attn(this, "attn", config),
      mlp(this, "mlp", config) {}

Tensor Qwen3VLVisionBlock::forward(Context& cx, const Tensor& x, const Tensor& rotary) const {
  return cx.segment(path(), [&] {
    Tensor h = attn.forward(cx, norm1.forward(cx, x), rotary, x);
    return mlp.forward(cx, norm2.forward(cx, h), h);
  });
}

Qwen3VLVisionPatchMerger::Qwen3VLVisionPatchMerger(Module* parent, const std::string& name,
                                                   const Qwen3VLVisionConfig& config,
                                                   bool of_squares)
    : Module(parent, name),
      norm(this, "norm", of_squares ? qwen3_vl_square_width(config) : config.hidden_size,
           qwen3_vl_vision_eps),
      linear_fc1(this, "linear_fc1", qwen3_vl_square_width(config), qwen3_vl_square_width(config)),
      linear_fc2(this, "linear_fc2", qwen3_vl_square_width(config), config.out_hidden_size),
      of_squares_(of_squares) {}

Tensor Qwen3VLVisionPatchMerger::forward(Context& cx, const Tensor& x) const {
  const int64_t width = linear_fc1.in();
  const Tensor squares = of_squares_ ? norm.forward(cx, x.view({1, -1, width}))
                                     : norm.forward(cx, x).view({1, -1, width});
  return linear_fc2.forward(cx, linear_fc1.forward(cx, squares, ops::Activation::gelu));
}

Qwen3VLVisionModel::Qwen3VLVisionModel(Module* parent, const std::string& name,
                                       const Qwen3VLVisionConfig& config)
    : Module(parent, name),
      patch_embed(this, "patch_embed", config),
      pos_embed(this, "pos_embed", config.num_position_embeddings, config.hidden_size),
      blocks(this, "blocks"),
      merger(this, "merger", config, /*of_squares=*/false),
      deepstack_merger_list(this, "deepstack_merger_list"),
      config_(config) {
  for (int64_t i = 0; i < config.depth; ++i) blocks.add(config);
  for (size_t i = 0; i < config.deepstack_visual_indexes.size(); ++i)
    deepstack_merger_list.add(config, /*of_squares=*/true);
}

Tensor Qwen3VLVisionModel::embedded(Context& cx, const Qwen3VLVisionInput& image) const {
  const Tensor h = patch_embed.forward(cx, nn::in_form(cx, image.patches));
  return nn::with_grid_positions(cx, h, pos_embed, {image.grid_places, image.grid_weights});
}

std::vector<Tensor> Qwen3VLVisionModel::forward(Context& cx,
                                                const Qwen3VLVisionInput& image) const {
  const int64_t half = config_.head_dim() / 2;
  const Tensor rotary =
      cx.ops().rotary_table(cx, {.x = image.positions,
                                 .axes = {half, half},
                                 .theta = config_.rope_theta.value_or(qwen3_vl_vision_theta)});
  Tensor h = embedded(cx, image);
  std::vector<Tensor> all(1);
  for (size_t i = 0; i < blocks.size(); ++i) {
    h = blocks[i].forward(cx, h, rotary);
    // Named twice, a layer is the first of its names, as in the reference.
    const auto& tapped = config_.deepstack_visual_indexes;
    const auto tap = std::ranges::find(tapped, static_cast<int64_t>(i));
    if (tap == tapped.end()) continue;
    all.push_back(deepstack_merger_list[static_cast<size_t>(tap - tapped.begin())].forward(cx, h));
  }
  all.front() = merger.forward(cx, h);
  return all;
}

}  // namespace omnirt
