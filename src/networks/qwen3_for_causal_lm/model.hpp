#pragma once
#include "networks/qwen3_for_causal_lm/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

// Qwen3 (Qwen Team 2025, arXiv 2505.09388; transformers modeling_qwen3.py) as a text encoder: what
// its layers make of a prompt. The head that would continue the text is not read.
class Qwen3ForCausalLM final : public nn::Network {
 public:
  Qwen3ForCausalLM(const Qwen3Config& config, Json json);
  const char* class_name() const override { return "Qwen3ForCausalLM"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // As nn::TextDecoder::hidden_states. Throws InvalidRequest for an id outside the vocabulary.
  std::vector<Tensor> hidden_states(Context& cx, const Tensor& input_ids, const Tensor* mask,
                                    const std::vector<int64_t>& chosen) const;

  int64_t hidden_size() const { return config_.hidden_size; }
  int64_t vocab_size() const { return config_.vocab_size; }
  int64_t num_hidden_layers() const { return config_.num_hidden_layers; }

  nn::TextDecoder model;

 private:
  Qwen3Config config_;
};

const nn::NetworkInfo& qwen3_for_causal_lm_info();

}  // namespace omnirt
