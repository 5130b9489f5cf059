#include "networks/qwen2_5_vl_for_conditional_generation/vision.hpp"

#include <algorithm>
#include <cmath>

#include "nn/blocks/vision_parts.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

// In the reference's code, not in the config.
constexpr double vision_norm_eps = 1e-6;
constexpr double vision_theta = 10000;

}  // namespace

Qwen25VisionPatchEmbed::Qwen25VisionPatchEmbed(Module* parent, const std::string& name,
                                               const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      weight(
          param("proj.weight", {config.hidden_size, config.in_channels, config.temporal_patch_size,
                                config.patch_size, config.patch_size})) {
  own(weight);
}

Tensor Qwen25VisionPatchEmbed::forward(Context& cx, const Tensor& patches) const {
  const Tensor matrix = cx[weight].view({weight.shape[0], -1});
  return cx.ops().linear(cx, {.x = patches, .weight = matrix, .pack = cx.packing(weight)});
}

Qwen25VisionAttention::Qwen25VisionAttention(Module* parent, const std::string& name,
                                             const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      qkv(this, "qkv", config.hidden_size, 3 * config.hidden_size),
      proj(this, "proj", config.hidden_size, config.hidden_size),
      heads_(config.num_heads) {}

Tensor Qwen25VisionAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                      const VisionWindows* windows, const Tensor& residual) const {
  const int64_t patches = x.size(1), width = x.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads_));
  const auto parts = nn::vision_heads(cx, qkv.forward(cx, x), rotary, heads_);
  Tensor y;
  int64_t from = 0;
  const VisionWindows whole{.order = {}, .groups = {{1, patches}}, .tokens = {}};
  for (const std::array<int64_t, 2>& group : (windows ? *windows : whole).groups) {
    const int64_t count = group[0], size = group[1];
    auto rows = [&](const Tensor& of) {
      return of.narrow(1, from, count * size).view({count, size, width});
    };
    const Tensor q = rows(parts.query), k = rows(parts.key), v = rows(parts.value);
    Tensor made =
        cx.ops().attention(cx, {q, k, v, heads_, scale}).reshape({1, count * size, width});
    y = y.defined() ? cx.ops().concat(cx, {y, made}) : made;
    from += count * size;
  }
  return proj.forward(cx, y, ops::Activation::none, &residual);
}

Qwen25VisionMLP::Qwen25VisionMLP(Module* parent, const std::string& name,
                                 const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      gate_proj(this, "gate_proj", config.hidden_size, config.intermediate_size),
      up_proj(this, "up_proj", config.hidden_size, config.intermediate_size),
      down_proj(this, "down_proj", config.intermediate_size, config.hidden_size) {}

Tensor Qwen25VisionMLP::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  Tensor gate = gate_proj.forward(cx, x, ops::Activation::silu), linear = up_proj.forward(cx, x);
  return down_proj.forward(cx, cx.ops().gate(cx, {gate, linear}), ops::Activation::none, &residual);
}

Qwen25VisionBlock::Qwen25VisionBlock(Module* parent, const std::string& name,
                                     const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.hidden_size, vision_norm_eps),
      norm2(this, "norm2", config.hidden_size, vision_norm_eps),
      attn(this, "attn", config),
      mlp(this, "mlp", config) {}

Tensor Qwen25VisionBlock::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                  const VisionWindows* windows) const {
  return cx.segment(path(), [&] {
    Tensor h = attn.forward(cx, norm1.forward(cx, x), rotary, windows, x);
    return mlp.forward(cx, norm2.forward(cx, h), h);
  });
}

Qwen25PatchMerger::Qwen25PatchMerger(Module* parent, const std::string& name,
                                     const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      ln_q(this, "ln_q", config.hidden_size, vision_norm_eps),
      mlp(this, "mlp") {
  int64_t width = config.hidden_size * config.spatial_merge_size * config.spatial_merge_size;
  mlp.add_at(0, width, width);
  mlp.add_at(2, width, config.out_hidden_size);
}

Tensor Qwen25PatchMerger::forward(Context& cx, const Tensor& x) const {
  Tensor squares = ln_q.forward(cx, x).view({1, -1, mlp[0].in()});
  return mlp[1].forward(cx, mlp[0].forward(cx, squares, ops::Activation::gelu));
}

Qwen25VisionTransformer::Qwen25VisionTransformer(Module* parent, const std::string& name,
                                                 const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      patch_embed(this, "patch_embed", config),
      blocks(this, "blocks"),
      merger(this, "merger", config),
      config_(config) {
  for (int64_t i = 0; i < config.depth; ++i) blocks.add(config);
}

Tensor Qwen25VisionTransformer::forward(Context& cx, const Tensor& patches, const Tensor& positions,
                                        const VisionWindows& windows) const {
  const int64_t half = config_.head_dim() / 2;
  const Tensor rotary =
      cx.ops().rotary_table(cx, {.x = positions, .axes = {half, half}, .theta = vision_theta});
  Tensor h = patch_embed.forward(cx, nn::in_form(cx, patches));
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool whole = std::ranges::find(config_.fullatt_block_indexes, static_cast<int64_t>(i)) !=
                       config_.fullatt_block_indexes.end();
    h = blocks[i].forward(cx, h, rotary, whole ? nullptr : &windows);
  }
  const Tensor tokens = merger.forward(cx, h).squeeze(0);
  return cx.ops().take_rows(cx, {tokens, windows.tokens}).unsqueeze(0);
}

}  // namespace omnirt
