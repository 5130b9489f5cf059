#pragma once
#include "networks/t5_encoder_model/blocks.hpp"
#include "networks/t5_encoder_model/config.hpp"
#include "nn/network.hpp"

namespace omnirt {

// The encoder of T5 (Raffel et al. 2019, arXiv 1910.10683; transformers modeling_t5.py), or of UMT5
// (modeling_umt5.py).
class T5EncoderModel final : public nn::Network {
 public:
  T5EncoderModel(const T5Config& config, Json json);
  const char* class_name() const override {
    return config_.bias_in_each_layer ? "UMT5EncoderModel" : "T5EncoderModel";
  }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // input_ids {B, T} int64; mask {B, T}, 0 where a token is padding, or null; {B, T, d_model}.
  // Throws InvalidRequest for an id outside the vocabulary.
  Tensor forward(Context& cx, const Tensor& input_ids, const Tensor* mask = nullptr) const;

  int64_t hidden_size() const { return config_.d_model; }
  int64_t vocab_size() const { return config_.vocab_size; }

  nn::Embedding shared;
  T5Stack encoder;

 private:
  T5Config config_;
};

const nn::NetworkInfo& t5_encoder_model_info();
const nn::NetworkInfo& umt5_encoder_model_info();

}  // namespace omnirt
