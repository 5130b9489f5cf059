#pragma once
#include "networks/qwen3_vl_for_conditional_generation/vision.hpp"
#include "nn/blocks/image_spans.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

// The checkpoint's "model".
class Qwen3VLParts final : public nn::Module {
 public:
  Qwen3VLParts(Module* parent, const std::string& name, const Qwen3VLConfig& config);

  std::optional<Qwen3VLVisionModel> visual;
  nn::TextDecoder language_model;
};

// What a prompt {1, T} looks at.
struct Qwen3VLSeen {
  // As image_tokens gives them, of all images one after the other.
  const std::vector<Tensor>& tokens;
  const std::vector<nn::ImageSpan>& spans;  // where they are in the prompt
};

// Qwen3-VL (Qwen Team 2025, arXiv 2511.21631; transformers modeling_qwen3_vl.py) as a text encoder:
// what its layers make of a prompt. Its positions are of time, row and column; a prompt's tokens
// have the same on all three, which are then Qwen3's positions. The head that would continue the
// text is not read, the vision tower where a prompt looks at images.
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
  // The states that a call asks for, of text or of one prompt that looks at images, whose
  // call.positions are blocks::qwen3_vl_angles.
  std::vector<Tensor> states(Context& cx, const Tensor& input_ids, const nn::TextDecoderCall& call,
                             const Qwen3VLSeen* seen = nullptr) const;
  // As Qwen3VLVisionModel's. Only where the config has a vision tower.
  std::vector<Tensor> image_tokens(Context& cx, const Qwen3VLVisionInput& image) const;

  int64_t hidden_size() const { return config_.text.hidden_size; }
  int64_t vocab_size() const { return config_.text.vocab_size; }
  int64_t num_hidden_layers() const { return config_.text.num_hidden_layers; }
  const Qwen3VLTextConfig& text() const { return config_.text; }
  int64_t image_token_id() const { return config_.image_token_id; }
  // Null where the weights have no vision tower.
  const Qwen3VLVisionConfig* vision() const { return config_.vision ? &*config_.vision : nullptr; }

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
