#include "networks/mistral3_for_conditional_generation/from_tensors.hpp"

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr int64_t mistral3_head_dim = 128;  // of all released ones

// Where the sizes are found, by layout.
struct Mistral3Names {
  const char *embedding, *layers, *query, *key, *gate, *norm;
};
constexpr Mistral3Names mistral3_own_names{"model.embed_tokens.weight",
                                           "model.layers.",
                                           "model.layers.0.self_attn.q_proj.weight",
                                           "model.layers.0.self_attn.k_proj.weight",
                                           "model.layers.0.mlp.gate_proj.weight",
                                           "model.norm.weight"};
constexpr Mistral3Names mistral3_llama_names{"token_embd.weight",     "blk.",
                                             "blk.0.attn_q.weight",   "blk.0.attn_k.weight",
                                             "blk.0.ffn_gate.weight", "output_norm.weight"};

// Qwen's have biases or norms of heads, Gemma's norms after a layer's parts.
bool is_mistral3(const TensorShapes& shapes, const Mistral3Names& names) {
  if (!shapes.has(names.embedding) || !shapes.has(names.query) || !shapes.has(names.gate))
    return false;
  for (const char* other :
       {"blk.0.attn_q.bias", "blk.0.attn_q_norm.weight", "blk.0.post_attention_norm.weight",
        "model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.q_norm.weight",
        "model.layers.0.pre_feedforward_layernorm.weight"})
    if (shapes.has(other)) return false;
  return shapes.size(names.query, 0) % mistral3_head_dim == 0;
}

}  // namespace

nn::OriginalLayout mistral3_llama_layout(const nn::TextDecoderOptions& options) {
  auto pairs = [](const char* network, const char* original, int64_t heads) {
    return nn::LayoutRule{network, original, nn::Form::head_pairs, 0, static_cast<size_t>(heads)};
  };
  std::vector<nn::LayoutRule> layer{pairs("self_attn.q_proj", "attn_q", options.heads),
                                    pairs("self_attn.k_proj", "attn_k", options.kv_heads),
                                    {"self_attn.v_proj", "attn_v"},
                                    {"self_attn.o_proj", "attn_output"},
                                    {"mlp.gate_proj", "ffn_gate"},
                                    {"mlp.up_proj", "ffn_up"},
                                    {"mlp.down_proj", "ffn_down"},
                                    {"input_layernorm", "attn_norm"},
                                    {"post_attention_layernorm", "ffn_norm"}};
  nn::LayoutRule each{"*", "*", nn::Form::same, 0, 1, std::move(layer)};
  return {"llama.cpp",
          {{"model.language_model.embed_tokens", "token_embd"},
           {"model.language_model.norm", "output_norm"},
           {"model.language_model.layers", "blk", nn::Form::same, 0, 1, {std::move(each)}}},
          {"output", "rope_freqs"}};
}

std::string mistral3_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes) {
  return shapes.contains(mistral3_llama_names.embedding) ? "llama.cpp" : "";
}

Json mistral3_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& all,
                                  const std::string&) {
  const TensorShapes shapes(all);
  const Mistral3Names& names =
      shapes.has(mistral3_llama_names.embedding) ? mistral3_llama_names : mistral3_own_names;
  if (!is_mistral3(shapes, names)) return {};
  Json text = {{"vocab_size", shapes.size(names.embedding, 0)},
               {"hidden_size", shapes.size(names.embedding, 1)},
               {"intermediate_size", shapes.size(names.gate, 0)},
               {"num_hidden_layers", shapes.count(names.layers)},
               {"num_attention_heads", shapes.size(names.query, 0) / mistral3_head_dim},
               {"num_key_value_heads", shapes.size(names.key, 0) / mistral3_head_dim},
               {"head_dim", mistral3_head_dim},
               {"rms_norm_eps", 1e-5},
               {"rope_theta", 1e9},
               {"sliding_window", nullptr}};
  // ComfyUI's files hold the layers that FLUX.2 reads, without the norm behind all of them.
  if (!shapes.has(names.norm)) text["_final_norm"] = false;
  return {{"_class_name", "Mistral3ForConditionalGeneration"}, {"text_config", std::move(text)}};
}

}  // namespace omnirt
