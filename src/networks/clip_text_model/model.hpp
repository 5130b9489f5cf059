#pragma once
#include <optional>
#include <vector>

#include "networks/clip_text_model/blocks.hpp"
#include "networks/clip_text_model/config.hpp"
#include "nn/network.hpp"

namespace omnirt {

struct CLIPTextOptions {
  // 0: the last layer; k: k layers before it, as Stable Diffusion's clip_skip counts. Layers above
  // are not computed, unless another option needs them.
  int64_t clip_skip = 0;
  // false: the chosen layer's output as it is, as Stable Diffusion XL takes it.
  bool normalize = true;
  bool hidden_states = false;  // fill CLIPTextOutput::hidden_states
  bool pooled = false;         // fill CLIPTextOutput::pooled
  // {B, T}: no token attends to one that has 0 here. Null: to all before it.
  const Tensor* mask = nullptr;
};

struct CLIPTextOutput {
  std::vector<Tensor> hidden_states;  // the embeddings and each layer's output, {B, T, D} each
  Tensor last_hidden_state;           // {B, T, D}: the layer that was asked for
  Tensor pooled;                      // {B, D}: the last layer, normalised, at the end token
  Tensor text_embeds;                 // {B, P}: pooled, projected, where the class has a projection
};

// The text encoder of CLIP (Radford et al. 2021, arXiv 2103.00020; transformers modeling_clip.py).
class CLIPTextModel : public nn::Network {
 public:
  CLIPTextModel(const CLIPTextConfig& config, Json json);
  const char* class_name() const override { return "CLIPTextModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;
  nn::AdapterNames adapter_names() const override;

  // input_ids {B, T} int64. Throws InvalidRequest for an id outside the vocabulary, more tokens
  // than max_position_embeddings, or a clip_skip greater than the number of layers.
  CLIPTextOutput forward(Context& cx, const Tensor& input_ids,
                         const CLIPTextOptions& options = {}) const;

  int64_t hidden_size() const { return config_.hidden_size; }
  int64_t num_layers() const { return config_.num_hidden_layers; }
  // The window: the most tokens a prompt can have, start and end included.
  int64_t max_tokens() const { return config_.max_position_embeddings; }
  int64_t vocab_size() const { return config_.vocab_size; }

 protected:
  // The tower below a module of this name, with a projection of what it pools.
  CLIPTextModel(const CLIPTextConfig& config, Json json, const char* tower);

 private:
  std::optional<nn::Module> tower_;  // before the members that are below it

 public:
  CLIPTextEmbeddings embeddings;
  nn::CLIPEncoder encoder;
  nn::LayerNorm final_layer_norm;
  std::optional<nn::Linear> text_projection;

 private:
  void check(Context& cx, const Tensor& input_ids, const CLIPTextOptions& options) const;
  CLIPTextConfig config_;
};

// The same with a projection into the space that CLIP's images and texts share.
class CLIPTextModelWithProjection final : public CLIPTextModel {
 public:
  CLIPTextModelWithProjection(const CLIPTextConfig& config, Json json)
      : CLIPTextModel(config, std::move(json), "text_model") {}
  const char* class_name() const override { return "CLIPTextModelWithProjection"; }
  nn::WeightMap weight_map() const override;
  int64_t projection_dim() const { return text_projection->out(); }
};

const nn::NetworkInfo& clip_text_model_info();
const nn::NetworkInfo& clip_text_model_with_projection_info();

}  // namespace omnirt
