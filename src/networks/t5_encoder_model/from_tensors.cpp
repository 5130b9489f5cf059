#include "networks/t5_encoder_model/from_tensors.hpp"

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

// Where the sizes are found, by layout.
struct T5Names {
  const char *embedding, *layers, *bias, *query, *gate, *perceptron;
};
constexpr T5Names t5_own_names{
    "shared.weight",
    "encoder.block.",
    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
    "encoder.block.0.layer.0.SelfAttention.q.weight",
    "encoder.block.0.layer.1.DenseReluDense.wi_0.weight",
    "encoder.block.0.layer.1.DenseReluDense.wo.weight"};
constexpr T5Names t5_llama_names{"token_embd.weight",           "enc.blk.",
                                 "enc.blk.0.attn_rel_b.weight", "enc.blk.0.attn_q.weight",
                                 "enc.blk.0.ffn_gate.weight",   "enc.blk.0.ffn_down.weight"};

}  // namespace

nn::OriginalLayout t5_llama_layout() {
  std::vector<nn::LayoutRule> block{{"layer.0.SelfAttention.q", "attn_q"},
                                    {"layer.0.SelfAttention.k", "attn_k"},
                                    {"layer.0.SelfAttention.v", "attn_v"},
                                    {"layer.0.SelfAttention.o", "attn_o"},
                                    {"layer.0.SelfAttention.relative_attention_bias", "attn_rel_b"},
                                    {"layer.0.layer_norm", "attn_norm"},
                                    {"layer.1.DenseReluDense.wi_0", "ffn_gate"},
                                    {"layer.1.DenseReluDense.wi_1", "ffn_up"},
                                    {"layer.1.DenseReluDense.wi", "ffn_up"},
                                    {"layer.1.DenseReluDense.wo", "ffn_down"},
                                    {"layer.1.layer_norm", "ffn_norm"}};
  nn::LayoutRule each{"*", "*", nn::Form::same, 0, 1, std::move(block)};
  return {"llama.cpp",
          {{"shared", "token_embd"},
           {"encoder.final_layer_norm", "enc.output_norm"},
           {"encoder.block", "enc.blk", nn::Form::same, 0, 1, {std::move(each)}}},
          {"dec", "output"}};
}

nn::OriginalLayout t5_transformers_layout() {
  return {"transformers", {{"shared", "shared"}, {"encoder", "encoder"}}, {"encoder.embed_tokens"}};
}

std::string t5_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes) {
  return shapes.contains(t5_llama_names.embedding) ? "llama.cpp" : "";
}

Json t5_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& all,
                            const std::string&) {
  const TensorShapes shapes(all);
  const T5Names& names = shapes.has(t5_llama_names.embedding) ? t5_llama_names : t5_own_names;
  if (!shapes.has(names.embedding) || !shapes.has(names.bias)) return {};
  int64_t heads = shapes.size(names.bias, 1);
  return {{"_class_name", "T5EncoderModel"},
          {"vocab_size", shapes.size(names.embedding, 0)},
          {"d_model", shapes.size(names.embedding, 1)},
          {"d_kv", shapes.size(names.query, 0) / heads},
          {"d_ff", shapes.size(names.perceptron, 1)},
          {"num_layers", shapes.count(names.layers)},
          {"num_heads", heads},
          {"relative_attention_num_buckets", shapes.size(names.bias, 0)},
          {"feed_forward_proj", shapes.has(names.gate) ? "gated-gelu" : "relu"}};
}

}  // namespace omnirt
