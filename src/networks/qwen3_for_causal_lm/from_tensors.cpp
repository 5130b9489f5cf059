#include "networks/qwen3_for_causal_lm/from_tensors.hpp"

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

// Where the sizes are found, by layout.
struct Qwen3Names {
  const char *embedding, *layers, *query, *key, *query_norm, *gate;
};
constexpr Qwen3Names qwen3_own_names{"model.embed_tokens.weight",
                                     "model.layers.",
                                     "model.layers.0.self_attn.q_proj.weight",
                                     "model.layers.0.self_attn.k_proj.weight",
                                     "model.layers.0.self_attn.q_norm.weight",
                                     "model.layers.0.mlp.gate_proj.weight"};
constexpr Qwen3Names qwen3_llama_names{"token_embd.weight",        "blk.",
                                       "blk.0.attn_q.weight",      "blk.0.attn_k.weight",
                                       "blk.0.attn_q_norm.weight", "blk.0.ffn_gate.weight"};

// Gemma 3 has such names, too, and norms after its layers' parts.
bool is_qwen3(const TensorShapes& shapes, const Qwen3Names& names) {
  return shapes.has(names.embedding) && shapes.has(names.query_norm) &&
         !shapes.has("blk.0.post_attention_norm.weight") &&
         !shapes.has("model.layers.0.pre_feedforward_layernorm.weight");
}

}  // namespace

nn::OriginalLayout qwen3_llama_layout() {
  std::vector<nn::LayoutRule> layer{
      {"self_attn.q_proj", "attn_q"},          {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},          {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},     {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},           {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},           {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "ffn_norm"}};
  nn::LayoutRule each{"*", "*", nn::Form::same, 0, 1, std::move(layer)};
  return {"llama.cpp",
          {{"model.embed_tokens", "token_embd"},
           {"model.norm", "output_norm"},
           {"model.layers", "blk", nn::Form::same, 0, 1, {std::move(each)}}},
          {"output", "rope_freqs"}};
}

std::string qwen3_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes) {
  return shapes.contains(qwen3_llama_names.embedding) ? "llama.cpp" : "";
}

Json qwen3_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& all,
                               const std::string&) {
  const TensorShapes shapes(all);
  const Qwen3Names& names =
      shapes.has(qwen3_llama_names.embedding) ? qwen3_llama_names : qwen3_own_names;
  if (!is_qwen3(shapes, names)) return {};
  int64_t head_dim = shapes.size(names.query_norm, 0);
  return {{"_class_name", "Qwen3ForCausalLM"},
          {"vocab_size", shapes.size(names.embedding, 0)},
          {"hidden_size", shapes.size(names.embedding, 1)},
          {"intermediate_size", shapes.size(names.gate, 0)},
          {"num_hidden_layers", shapes.count(names.layers)},
          {"num_attention_heads", shapes.size(names.query, 0) / head_dim},
          {"num_key_value_heads", shapes.size(names.key, 0) / head_dim},
          {"head_dim", head_dim},
          {"rms_norm_eps", 1e-6},
          {"rope_theta", 1'000'000}};
}

}  // namespace omnirt
