#include "networks/lumina2_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

nn::LayoutRule lumina2_blocks(const std::string& name, const Lumina2Transformer2DConfig& config) {
  std::vector<nn::LayoutRule> within{{"norm1.linear", "adaLN_modulation.1"},
                                     {"norm1.norm", "attention_norm1"},
                                     {"norm1", "attention_norm1"},
                                     {"norm2", "attention_norm2"},
                                     {"feed_forward.linear_1", "feed_forward.w1"},
                                     {"feed_forward.linear_2", "feed_forward.w2"},
                                     {"feed_forward.linear_3", "feed_forward.w3"},
                                     {"attn.to_out.0", "attention.out"},
                                     {"attn.norm_q", "attention.q_norm"},
                                     {"attn.norm_k", "attention.k_norm"}};
  // Query, key and value are heads of one matrix, fewer of the last two.
  const auto heads = static_cast<size_t>(config.num_attention_heads);
  const auto kv_heads = static_cast<size_t>(config.kv_heads());
  const size_t all = heads + 2 * kv_heads;
  auto heads_of = [&](const char* part, size_t first, size_t count) {
    within.push_back({part, "attention.qkv", nn::Form::rows, first, all, {}, count});
  };
  heads_of("attn.to_q", 0, heads);
  heads_of("attn.to_k", heads, kv_heads);
  heads_of("attn.to_v", heads + kv_heads, kv_heads);
  return {name, name, nn::Form::same, 0, 1, {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

}  // namespace

nn::OriginalLayout lumina2_original_layout(const Lumina2Transformer2DConfig& config) {
  const std::string time = "time_caption_embed.timestep_embedder.";
  return {"lumina2",
          {{"x_embedder", "x_embedder"},
           {"norm_out.linear_1", "final_layer.adaLN_modulation.1"},
           {"norm_out.linear_2", "final_layer.linear"},
           lumina2_blocks("noise_refiner", config),
           lumina2_blocks("context_refiner", config),
           lumina2_blocks("layers", config),
           {time + "linear_1", "t_embedder.mlp.0"},
           {time + "linear_2", "t_embedder.mlp.2"},
           {"time_caption_embed.caption_embedder", "cap_embedder"}},
          {"norm_final"}};
}

Json lumina2_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                             const std::string& where) {
  const TensorShapes shapes(all);
  // Z-Image has the same names, and tokens that fill up.
  if (shapes.has("x_pad_token") || !shapes.has("layers.0.attention.qkv.weight") ||
      !shapes.has("cap_embedder.0.weight"))
    return {};
  constexpr int64_t head_dim = 96;  // of all that were released
  const int64_t dim = shapes.size("x_embedder.weight", 0);
  const int64_t head = shapes.size("layers.0.attention.q_norm.weight", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 96",
                       "give a folder with the model's config.json"});
  }
  const int64_t heads = shapes.size("layers.0.attention.qkv.weight", 0) / head_dim;
  return {{"_class_name", "Lumina2Transformer2DModel"},
          {"in_channels", shapes.size("x_embedder.weight", 1) / 4},
          {"hidden_size", dim},
          {"num_layers", shapes.count("layers.")},
          {"num_refiner_layers", shapes.count("noise_refiner.")},
          {"num_attention_heads", dim / head_dim},
          {"num_kv_heads", (heads - dim / head_dim) / 2},
          {"multiple_of", shapes.size("layers.0.feed_forward.w1.weight", 0)},
          {"cap_feat_dim", shapes.size("cap_embedder.1.weight", 1)}};
}

}  // namespace omnirt
