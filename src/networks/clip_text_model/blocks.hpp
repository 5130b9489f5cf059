#pragma once
#include "networks/clip_text_model/config.hpp"
#include "nn/blocks/clip_encoder.hpp"

namespace omnirt {

class CLIPTextEmbeddings final : public nn::Module {
 public:
  CLIPTextEmbeddings(Module* parent, const std::string& name, const CLIPTextConfig& config);
  const char* class_name() const override { return "CLIPTextEmbeddings"; }
  // {B, T} int64 -> {B, T, D}: tokens and their positions.
  Tensor forward(Context& cx, const Tensor& input_ids) const;

  nn::Embedding token_embedding;
  nn::Embedding position_embedding;
};

// The layers of a text tower: each token sees those before it.
nn::CLIPEncoderOptions encoder_options(const CLIPTextConfig& config);

}  // namespace omnirt
