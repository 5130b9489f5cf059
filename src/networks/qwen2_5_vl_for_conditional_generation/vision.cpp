#include "networks/qwen2_5_vl_for_conditional_generation/vision.hpp"

namespace omnirt {
namespace {

constexpr double vision_norm_eps = 1e-6;  // in the reference's code, not in the config

}  // namespace

Qwen25VisionPatchEmbed::Qwen25VisionPatchEmbed(Module* parent, const std::string& name,
                                               const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      weight(
          param("proj.weight", {config.hidden_size, config.in_channels, config.temporal_patch_size,
                                config.patch_size, config.patch_size})) {
  own(weight);
}

Qwen25VisionAttention::Qwen25VisionAttention(Module* parent, const std::string& name,
                                             const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      qkv(this, "qkv", config.hidden_size, 3 * config.hidden_size),
      proj(this, "proj", config.hidden_size, config.hidden_size) {}

Qwen25VisionMLP::Qwen25VisionMLP(Module* parent, const std::string& name,
                                 const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      gate_proj(this, "gate_proj", config.hidden_size, config.intermediate_size),
      up_proj(this, "up_proj", config.hidden_size, config.intermediate_size),
      down_proj(this, "down_proj", config.intermediate_size, config.hidden_size) {}

Qwen25VisionBlock::Qwen25VisionBlock(Module* parent, const std::string& name,
                                     const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.hidden_size, vision_norm_eps),
      norm2(this, "norm2", config.hidden_size, vision_norm_eps),
      attn(this, "attn", config),
      mlp(this, "mlp", config) {}

Qwen25PatchMerger::Qwen25PatchMerger(Module* parent, const std::string& name,
                                     const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      ln_q(this, "ln_q", config.hidden_size, vision_norm_eps),
      mlp(this, "mlp") {
  int64_t width = config.hidden_size * config.spatial_merge_size * config.spatial_merge_size;
  mlp.add_at(0, width, width);
  mlp.add_at(2, width, config.out_hidden_size);
}

Qwen25VisionTransformer::Qwen25VisionTransformer(Module* parent, const std::string& name,
                                                 const Qwen25VLVisionConfig& config)
    : Module(parent, name),
      patch_embed(this, "patch_embed", config),
      blocks(this, "blocks"),
      merger(this, "merger", config) {
  for (int64_t i = 0; i < config.depth; ++i) blocks.add(config);
}

}  // namespace omnirt
