#include "networks/redux_image_encoder/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr int64_t redux_widening = 3;

}  // namespace

ReduxImageEncoder::ReduxImageEncoder(const ReduxImageEncoderConfig& config, Json json)
    : Network(std::move(json)),
      redux_up(this, "redux_up", config.redux_dim, redux_widening * config.txt_in_features),
      redux_down(this, "redux_down", redux_widening * config.txt_in_features,
                 config.txt_in_features),
      config_(config) {}

nn::Metadata ReduxImageEncoder::metadata() const {
  return nn::feature_metadata(*this, {});
}

Tensor ReduxImageEncoder::forward(Context& cx, const Tensor& states) const {
  Tensor wide = redux_up.forward(cx, nn::in_form(cx, states), ops::Activation::silu);
  return redux_down.forward(cx, wide);
}

const nn::NetworkInfo& redux_image_encoder_info() {
  static const nn::NetworkInfo info{
      .class_name = "ReduxImageEncoder",
      .make = nn::network_of<ReduxImageEncoder, read_redux_image_encoder_config>,
      .summary = "FLUX.1 Redux: an image's states as those of a text",
      .weights_base = "diffusion_pytorch_model",
      .role = "image_embedder"};
  return info;
}

}  // namespace omnirt
