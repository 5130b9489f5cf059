#include "networks/qwen2_5_vl_for_conditional_generation/from_tensors.hpp"

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

// Where the sizes are found, by layout.
struct Qwen25Names {
  const char *embedding, *layers, *query, *query_bias, *query_norm, *key, *gate;
};
constexpr Qwen25Names qwen25_own_names{"model.embed_tokens.weight",
                                       "model.layers.",
                                       "model.layers.0.self_attn.q_proj.weight",
                                       "model.layers.0.self_attn.q_proj.bias",
                                       "model.layers.0.self_attn.q_norm.weight",
                                       "model.layers.0.self_attn.k_proj.weight",
                                       "model.layers.0.mlp.gate_proj.weight"};
constexpr Qwen25Names qwen25_llama_names{"token_embd.weight",        "blk.",
                                         "blk.0.attn_q.weight",      "blk.0.attn_q.bias",
                                         "blk.0.attn_q_norm.weight", "blk.0.attn_k.weight",
                                         "blk.0.ffn_gate.weight"};

constexpr int64_t released_head_dim = 128;

// Null where the file has no vision tower. Its head is 80 wide in all that were released.
Json vision_config(const TensorShapes& shapes) {
  if (!shapes.has("visual.patch_embed.proj.weight")) return {};
  constexpr int64_t vision_head_dim = 80;
  const char* patches = "visual.patch_embed.proj.weight";
  int64_t width = shapes.size(patches, 0);
  return {{"depth", shapes.count("visual.blocks.")},
          {"hidden_size", width},
          {"intermediate_size", shapes.size("visual.blocks.0.mlp.gate_proj.weight", 0)},
          {"num_heads", width / vision_head_dim},
          {"temporal_patch_size", shapes.size(patches, 2)},
          {"patch_size", shapes.size(patches, 3)},
          {"out_hidden_size", shapes.size("visual.merger.mlp.2.weight", 0)}};
}

}  // namespace

nn::OriginalLayout qwen2_5_vl_llama_layout() {
  std::vector<nn::LayoutRule> layer{
      {"self_attn.q_proj", "attn_q"},          {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},          {"self_attn.o_proj", "attn_output"},
      {"mlp.gate_proj", "ffn_gate"},           {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},           {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "ffn_norm"}};
  nn::LayoutRule each{"*", "*", nn::Form::same, 0, 1, std::move(layer)};
  return {"llama.cpp",
          {{"model.language_model.embed_tokens", "token_embd"},
           {"model.language_model.norm", "output_norm"},
           {"model.language_model.layers", "blk", nn::Form::same, 0, 1, {std::move(each)}}},
          {"output", "rope_freqs"}};
}

std::string qwen2_5_vl_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes) {
  return shapes.contains(qwen25_llama_names.embedding) ? "llama.cpp" : "";
}

Json qwen2_5_vl_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& all,
                                    const std::string&) {
  const TensorShapes shapes(all);
  const Qwen25Names& names =
      shapes.has(qwen25_llama_names.embedding) ? qwen25_llama_names : qwen25_own_names;
  if (!shapes.has(names.embedding) || !shapes.has(names.query_bias) || shapes.has(names.query_norm))
    return {};
  int64_t width = shapes.size(names.embedding, 1);
  Json text = {
      {"vocab_size", shapes.size(names.embedding, 0)},
      {"hidden_size", width},
      {"intermediate_size", shapes.size(names.gate, 0)},
      {"num_hidden_layers", shapes.count(names.layers)},
      {"num_attention_heads", shapes.size(names.query, 0) / released_head_dim},
      {"num_key_value_heads", shapes.size(names.key, 0) / released_head_dim},
      {"rms_norm_eps", 1e-6},
      {"rope_parameters",
       {{"rope_type", "default"}, {"rope_theta", 1'000'000}, {"mrope_section", {16, 24, 24}}}}};
  return {{"_class_name", "Qwen2_5_VLForConditionalGeneration"},
          {"text_config", std::move(text)},
          {"vision_config", vision_config(shapes)}};
}

}  // namespace omnirt
