#include "networks/t5_encoder_model/model.hpp"

#include "networks/t5_encoder_model/from_tensors.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"

namespace omnirt {
T5EncoderModel::T5EncoderModel(const T5Config& config, Json json)
    : Network(std::move(json)),
      shared(this, "shared", config.vocab_size, config.d_model),
      encoder(this, "encoder", config),
      config_(config) {}

nn::Metadata T5EncoderModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"T5Block"}, .repeated_blocks = {"T5Block"}});
}

nn::WeightMap T5EncoderModel::weight_map() const {
  // Files can hold the embeddings under both of their names.
  return {.renames = {}, .ignored = {"encoder.embed_tokens.weight"}};
}

std::vector<nn::OriginalLayout> T5EncoderModel::original_layouts() const {
  if (config_.bias_in_each_layer) return {};  // none was met
  return {t5_llama_layout(), t5_transformers_layout()};
}

Tensor T5EncoderModel::forward(Context& cx, const Tensor& input_ids, const Tensor* mask) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return encoder.forward(cx, shared.forward(cx, input_ids), mask);
}

const nn::NetworkInfo& t5_encoder_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "T5EncoderModel",
      .make = nn::network_of<T5EncoderModel, read_t5_config>,
      .summary = "the encoder of T5",
      .weights_base = "model",
      .role = "text_encoder",
      .from_tensors = {.signs =
                           "a T5 encoder (encoder.block.* or, as llama.cpp names it, enc.blk.*)",
                       .config = t5_config_from_tensors,
                       .layout = t5_layout_of},
      .gguf = {{"enc.blk.0.attn_q.", "t5encoder"}},
  };
  return info;
}

const nn::NetworkInfo& umt5_encoder_model_info() {
  static const nn::NetworkInfo info{.class_name = "UMT5EncoderModel",
                                    .make = nn::network_of<T5EncoderModel, read_umt5_config>,
                                    .summary = "the encoder of UMT5",
                                    .weights_base = "model",
                                    .role = "text_encoder"};
  return info;
}

}  // namespace omnirt
