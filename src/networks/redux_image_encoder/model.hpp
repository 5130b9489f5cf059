#pragma once
#include "networks/redux_image_encoder/config.hpp"
#include "nn/layers.hpp"
#include "nn/network.hpp"

namespace omnirt {

// An image encoder's states as those of a text (FLUX.1 Redux; diffusers pipelines/flux
// modeling_flux.py).
class ReduxImageEncoder final : public nn::Network {
 public:
  ReduxImageEncoder(const ReduxImageEncoderConfig& config, Json json);
  const char* class_name() const override { return "ReduxImageEncoder"; }
  nn::Metadata metadata() const override;

  // {B, T, redux_dim} -> {B, T, txt_in_features}.
  Tensor forward(Context& cx, const Tensor& states) const;

  int64_t redux_dim() const { return config_.redux_dim; }
  int64_t context_dim() const { return config_.txt_in_features; }

  nn::Linear redux_up, redux_down;

 private:
  ReduxImageEncoderConfig config_;
};

const nn::NetworkInfo& redux_image_encoder_info();

}  // namespace omnirt
