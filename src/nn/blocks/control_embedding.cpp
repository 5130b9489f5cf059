#include "nn/blocks/control_embedding.hpp"

namespace omnirt::nn {
namespace {

constexpr Conv2dOptions halved_sides{3, 2, {1, 1, 1, 1}, true};

}  // namespace

ControlNetConditioningEmbedding::ControlNetConditioningEmbedding(
    Module* parent, const std::string& name, const ControlEmbeddingOptions& options)
    : Module(parent, name),
      conv_in(this, "conv_in", options.in, options.channels.front()),
      blocks(this, "blocks"),
      conv_out(this, "conv_out", options.channels.back(), options.out) {
  for (size_t i = 0; i + 1 < options.channels.size(); ++i) {
    blocks.add(options.channels[i], options.channels[i]);
    blocks.add(options.channels[i], options.channels[i + 1], halved_sides);
  }
}

Tensor ControlNetConditioningEmbedding::forward(Context& cx, const Tensor& conditioning) const {
  const ConvEpilogue activated{.activation = ops::Activation::silu};
  Tensor x = conv_in.forward(cx, conditioning, activated);
  for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i].forward(cx, x, activated);
  return conv_out.forward(cx, x);
}

}  // namespace omnirt::nn
