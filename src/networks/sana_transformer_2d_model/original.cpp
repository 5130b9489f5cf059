#include "networks/sana_transformer_2d_model/original.hpp"

#include <cmath>

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

Rules sana_block_rules() {
  auto part = [](const char* ours, const char* theirs, size_t number, size_t parts) {
    return nn::LayoutRule{ours, theirs, nn::Form::rows, number, parts};
  };
  return {part("attn1.to_q", "attn.qkv", 0, 3),
          part("attn1.to_k", "attn.qkv", 1, 3),
          part("attn1.to_v", "attn.qkv", 2, 3),
          {"attn1.norm_q", "attn.q_norm"},
          {"attn1.norm_k", "attn.k_norm"},
          {"attn1.to_out.0", "attn.proj"},
          {"attn2.to_q", "cross_attn.q_linear"},
          part("attn2.to_k", "cross_attn.kv_linear", 0, 2),
          part("attn2.to_v", "cross_attn.kv_linear", 1, 2),
          {"attn2.norm_q", "cross_attn.q_norm"},
          {"attn2.norm_k", "cross_attn.k_norm"},
          {"attn2.to_out.0", "cross_attn.proj"},
          {"ff.conv_inverted", "mlp.inverted_conv.conv"},
          {"ff.conv_depth", "mlp.depth_conv.conv"},
          {"ff.conv_point", "mlp.point_conv.conv"}};
}

// Heads of attention to the text, which shapes do not tell; 0: of no released model.
int64_t sana_cross_heads(int64_t dim) {
  if (dim == 1152) return 16;
  return dim == 2240 ? 20 : 0;
}

}  // namespace

nn::OriginalLayout sana_original_layout() {
  return {"sana",
          {{"patch_embed.proj", "x_embedder.proj"},
           {"time_embed.emb.timestep_embedder.linear_1", "t_embedder.mlp.0"},
           {"time_embed.emb.timestep_embedder.linear_2", "t_embedder.mlp.2"},
           {"time_embed.timestep_embedder.linear_1", "t_embedder.mlp.0"},
           {"time_embed.timestep_embedder.linear_2", "t_embedder.mlp.2"},
           {"time_embed.guidance_embedder.linear_1", "cfg_embedder.mlp.0"},
           {"time_embed.guidance_embedder.linear_2", "cfg_embedder.mlp.2"},
           {"time_embed.linear", "t_block.1"},
           {"caption_projection.linear_1", "y_embedder.y_proj.fc1"},
           {"caption_projection.linear_2", "y_embedder.y_proj.fc2"},
           {"caption_norm", "attention_y_norm"},
           {"transformer_blocks",
            "blocks",
            nn::Form::same,
            0,
            1,
            {{"*", "*", nn::Form::same, 0, 1, sana_block_rules()}}},
           {"proj_out", "final_layer.linear"},
           {"scale_shift_table", "final_layer.scale_shift_table"}},
          {"pos_embed", "y_embedder.y_embedding", "logvar_linear"}};
}

Json sana_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                          const std::string& where) {
  const TensorShapes shapes(all);
  for (const char* sign : {"blocks.0.cross_attn.kv_linear.weight",
                           "blocks.0.mlp.inverted_conv.conv.weight", "x_embedder.proj.weight"})
    if (!shapes.has(sign)) return {};
  const int64_t dim = shapes.size("x_embedder.proj.weight", 0), heads = sana_cross_heads(dim);
  if (heads == 0) {
    throw Unsupported({where, std::to_string(dim), "a width that no released Sana has",
                       "give a folder with the model's config.json"});
  }
  constexpr int64_t head_dim = 32;  // of all that were released
  Json config{
      {"_class_name", "SanaTransformer2DModel"},
      {"in_channels", shapes.size("x_embedder.proj.weight", 1)},
      {"out_channels", shapes.size("final_layer.linear.weight", 0)},
      {"num_attention_heads", dim / head_dim},
      {"num_cross_attention_heads", heads},
      {"cross_attention_head_dim", dim / heads},
      {"cross_attention_dim", dim},
      {"num_layers", shapes.count("blocks.")},
      {"caption_channels", shapes.size("y_embedder.y_proj.fc1.weight", 1)},
      {"mlp_ratio", static_cast<double>(shapes.size("blocks.0.mlp.point_conv.conv.weight", 1)) /
                        static_cast<double>(dim)}};
  if (shapes.has("blocks.0.attn.q_norm.weight")) config["qk_norm"] = "rms_norm_across_heads";
  if (shapes.has("cfg_embedder.mlp.0.weight")) config["guidance_embeds"] = true;
  if (!shapes.has("pos_embed")) return config;
  const double side = std::sqrt(static_cast<double>(shapes.size("pos_embed", 1)));
  config["sample_size"] = static_cast<int64_t>(side);
  // Only models of 2048 pixels and more know positions (diffusers convert_sana_to_diffusers.py).
  if (side >= 64) config["interpolation_scale"] = side / 64;
  return config;
}

}  // namespace omnirt
