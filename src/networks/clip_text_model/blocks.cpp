#include "networks/clip_text_model/blocks.hpp"

#include "nn/blocks/clip_encoder.hpp"

namespace omnirt {

CLIPTextEmbeddings::CLIPTextEmbeddings(Module* parent, const std::string& name,
                                       const CLIPTextConfig& config)
    : Module(parent, name),
      token_embedding(this, "token_embedding", config.vocab_size, config.hidden_size),
      position_embedding(this, "position_embedding", config.max_position_embeddings,
                         config.hidden_size) {}

Tensor CLIPTextEmbeddings::forward(Context& cx, const Tensor& input_ids) const {
  Tensor tokens = token_embedding.forward(cx, input_ids);
  Tensor positions = cx[position_embedding.weight].narrow(0, 0, input_ids.size(1));
  return cx.ops().add(cx, {tokens, positions});
}

nn::CLIPEncoderOptions encoder_options(const CLIPTextConfig& config) {
  return nn::clip_encoder_options(config, /*causal=*/true);
}

}  // namespace omnirt
