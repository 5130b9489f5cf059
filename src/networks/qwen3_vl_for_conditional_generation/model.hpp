#pragma once
#include "networks/qwen3_vl_for_conditional_generation/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

// The checkpoint's "model".
class Qwen3VLParts final : public nn::Module {
 public:
  Qwen3VLParts(Module* parent, const std::string& name, const Qwen3VLConfig& config);

  nn::TextDecoder language_model;
};

// Qwen3-VL (Qwen Team 2025, arXiv 2511.21631; transformers modeling_qwen3_vl.py) as a text encoder:
// what its layers make of a prompt. Its positions are of time, row and column; a prompt's tokens
// have the same on all three, which are then Qwen3's positions. The vision tower and the head that
// would continue the text are not read.
class Qwen3VLForConditionalGeneration : public nn::Network {
 public:
  Qwen3VLForConditionalGeneration(const Qwen3VLConfig& config, Json json);
  const char* class_name() const override { return "Qwen3VLForConditionalGeneration"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;

  // As nn::TextDecoder::hidden_states. Throws InvalidRequest for an id outside the vocabulary.
  std::vector<Tensor> hidden_states(Context& cx, const Tensor& input_ids, const Tensor* mask,
                                    const std::vector<int64_t>& chosen,
                                    const Tensor* positions = nullptr) const;
  // The states that a call asks for.
  std::vector<Tensor> states(Context& cx, const Tensor& input_ids,
                             const nn::TextDecoderCall& call) const;

  int64_t hidden_size() const { return config_.text.hidden_size; }
  int64_t vocab_size() const { return config_.text.vocab_size; }
  int64_t num_hidden_layers() const { return config_.text.num_hidden_layers; }

  Qwen3VLParts model;

 private:
  Qwen3VLConfig config_;
};

// The same without the head, whose files have no "model." before each name.
class Qwen3VLModel final : public Qwen3VLForConditionalGeneration {
 public:
  using Qwen3VLForConditionalGeneration::Qwen3VLForConditionalGeneration;
  const char* class_name() const override { return "Qwen3VLModel"; }
};

const nn::NetworkInfo& qwen3_vl_for_conditional_generation_info();
const nn::NetworkInfo& qwen3_vl_model_info();

}  // namespace omnirt
