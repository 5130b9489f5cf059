#pragma once
#include "networks/mistral3_for_conditional_generation/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

// The checkpoint's "model": the language model, without what sees images.
class Mistral3Model final : public nn::Module {
 public:
  Mistral3Model(nn::Module* parent, const std::string& name, const Mistral3Config& config);

  nn::TextDecoder language_model;
};

// Mistral Small 3.1 and 3.2 (Mistral AI 2025; transformers modeling_mistral3.py) as a text encoder:
// what its language model's layers make of a prompt. The vision tower, its projector and the head
// that would continue the text are known by name and not loaded.
class Mistral3ForConditionalGeneration final : public nn::Network {
 public:
  Mistral3ForConditionalGeneration(const Mistral3Config& config, Json json);
  const char* class_name() const override { return "Mistral3ForConditionalGeneration"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // As nn::TextDecoder::hidden_states. Throws InvalidRequest for an id outside the vocabulary.
  std::vector<Tensor> hidden_states(Context& cx, const Tensor& input_ids, const Tensor* mask,
                                    const std::vector<int64_t>& chosen) const;

  int64_t hidden_size() const { return config_.text.hidden_size; }
  int64_t vocab_size() const { return config_.text.vocab_size; }
  int64_t num_hidden_layers() const { return config_.text.num_hidden_layers; }

  Mistral3Model model;

 private:
  Mistral3Config config_;
};

const nn::NetworkInfo& mistral3_for_conditional_generation_info();

}  // namespace omnirt
