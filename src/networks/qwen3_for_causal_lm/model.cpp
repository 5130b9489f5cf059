#include "networks/qwen3_for_causal_lm/model.hpp"

#include "networks/qwen3_for_causal_lm/from_tensors.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"

namespace omnirt {
namespace {

constexpr const char* layer_class = "Qwen3DecoderLayer";

}  // namespace

Qwen3ForCausalLM::Qwen3ForCausalLM(const Qwen3Config& config, Json json)
    : Network(std::move(json)),
      model(this, "model", config.vocab_size, config.options(), layer_class),
      config_(config) {}

nn::Metadata Qwen3ForCausalLM::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {layer_class}, .repeated_blocks = {layer_class}});
}

nn::WeightMap Qwen3ForCausalLM::weight_map() const {
  return {.renames = {}, .ignored = {"lm_head.weight"}};
}

std::vector<nn::OriginalLayout> Qwen3ForCausalLM::original_layouts() const {
  return {qwen3_llama_layout()};
}

std::vector<Tensor> Qwen3ForCausalLM::hidden_states(Context& cx, const Tensor& input_ids,
                                                    const Tensor* mask,
                                                    const std::vector<int64_t>& chosen) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return model.hidden_states(cx, input_ids, mask, chosen);
}

const nn::NetworkInfo& qwen3_for_causal_lm_info() {
  static const nn::NetworkInfo info{
      .class_name = "Qwen3ForCausalLM",
      .make = nn::network_of<Qwen3ForCausalLM, read_qwen3_config>,
      .summary = "Qwen3 as a text encoder",
      .weights_base = "model",
      .role = "text_encoder",
      .from_tensors = {.signs = "a Qwen3 (model.layers.* or, as llama.cpp names it, blk.*)",
                       .config = qwen3_config_from_tensors,
                       .layout = qwen3_layout_of},
      .gguf = {{"blk.0.attn_q_norm.", "qwen3"}},
  };
  return info;
}

}  // namespace omnirt
