#pragma once
#include <vector>

#include "networks/clip_text_model/blocks.hpp"
#include "networks/clip_text_model/config.hpp"
#include "nn/network.hpp"

namespace omnirt {

struct CLIPTextOptions {
  // 0: the last layer; k: k layers before it, as Stable Diffusion's clip_skip counts. Layers above
  // are not computed, unless another option needs them.
  int64_t clip_skip = 0;
  bool hidden_states = false;  // fill CLIPTextOutput::hidden_states
  bool pooled = false;         // fill CLIPTextOutput::pooled
};

struct CLIPTextOutput {
  std::vector<Tensor> hidden_states;  // the embeddings and each layer's output, {B, T, D} each
  Tensor last_hidden_state;           // {B, T, D}: the layer that was asked for, normalised
  Tensor pooled;                      // {B, D}: the last layer, normalised, at the end token
};

// The text encoder of CLIP (Radford et al. 2021, arXiv 2103.00020; transformers modeling_clip.py).
class CLIPTextModel final : public nn::Network {
 public:
  CLIPTextModel(const CLIPTextConfig& config, Json json);
  const char* class_name() const override { return "CLIPTextModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;

  // input_ids {B, T} int64. Throws InvalidRequest for an id outside the vocabulary, more tokens
  // than max_position_embeddings, or a clip_skip greater than the number of layers.
  CLIPTextOutput forward(Context& cx, const Tensor& input_ids,
                         const CLIPTextOptions& options = {}) const;

  int64_t hidden_size() const { return config_.hidden_size; }
  int64_t num_layers() const { return config_.num_hidden_layers; }
  // The window: the most tokens a prompt can have, start and end included.
  int64_t max_tokens() const { return config_.max_position_embeddings; }
  int64_t vocab_size() const { return config_.vocab_size; }

  CLIPTextEmbeddings embeddings;
  CLIPEncoder encoder;
  nn::LayerNorm final_layer_norm;

 private:
  void check(const Context& cx, const Tensor& input_ids, const CLIPTextOptions& options) const;
  CLIPTextConfig config_;
};

const nn::NetworkInfo& clip_text_model_info();

}  // namespace omnirt
