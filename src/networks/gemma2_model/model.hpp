#pragma once
#include "networks/gemma2_model/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

// Gemma 2 (Gemma Team 2024, arXiv 2408.00118; transformers modeling_gemma2.py) as a text encoder:
// what its layers make of a prompt.
class Gemma2Model final : public nn::Network {
 public:
  Gemma2Model(const Gemma2Config& config, Json json);
  const char* class_name() const override { return "Gemma2Model"; }
  nn::Metadata metadata() const override;
  // Files of Gemma2ForCausalLM are read, too: the head that would continue the text is not.
  nn::WeightMap weight_map() const override;

  // As nn::TextDecoder::hidden_states. Throws InvalidRequest for an id outside the vocabulary.
  std::vector<Tensor> hidden_states(Context& cx, const Tensor& input_ids, const Tensor* mask,
                                    const std::vector<int64_t>& chosen) const;

  int64_t hidden_size() const { return config_.hidden_size; }
  int64_t vocab_size() const { return config_.vocab_size; }
  int64_t num_hidden_layers() const { return config_.num_hidden_layers; }

  nn::TextDecoder model;

 private:
  Gemma2Config config_;
};

const nn::NetworkInfo& gemma2_model_info();
const nn::NetworkInfo& gemma2_for_causal_lm_info();

}  // namespace omnirt
