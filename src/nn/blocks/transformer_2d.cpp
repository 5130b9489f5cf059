#include "nn/blocks/transformer_2d.hpp"

#include "nn/beside.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr double norm_eps = 1e-6;

std::vector<int64_t> weight_shape(int64_t in, int64_t out, bool convolution) {
  return convolution ? std::vector<int64_t>{out, in, 1, 1} : std::vector<int64_t>{out, in};
}

}  // namespace

PixelLinear::PixelLinear(Module* parent, const std::string& name, int64_t in, int64_t out,
                         bool convolution)
    : Module(parent, name),
      weight(param("weight", weight_shape(in, out, convolution))),
      bias(param("bias", {out})) {
  own(weight);
  own(bias);
}

Tensor PixelLinear::forward(Context& cx, const Tensor& x, const Tensor* residual) const {
  Tensor matrix = cx.as_encoded(weight).view({weight.shape[0], weight.shape[1]});
  Tensor beside = beside_linear(cx, weight, x, residual);
  return cx.ops().linear(cx, {x, matrix, cx.maybe(bias), ops::Activation::none,
                              beside.defined() ? &beside : residual, cx.packing(weight)});
}

Transformer2DModel::Transformer2DModel(Module* parent, const std::string& name, int64_t channels,
                                       const TransformerOptions& options)
    : Module(parent, name),
      norm(this, "norm", options.norm_groups, channels, norm_eps),
      proj_in(this, "proj_in", channels, options.heads * options.head_dim,
              !options.linear_projection),
      transformer_blocks(this, "transformer_blocks"),
      proj_out(this, "proj_out", options.heads * options.head_dim, channels,
               !options.linear_projection) {
  for (int64_t i = 0; i < options.layers; ++i) {
    transformer_blocks.add(options.heads * options.head_dim, options);
  }
}

Tensor Transformer2DModel::forward(Context& cx, const Tensor& x,
                                   const AttentionContext& context) const {
  AttentionContext here = context;
  here.grid = {x.size(2), x.size(3)};
  Tensor h = proj_in.forward(cx, tokens_of(norm.forward(cx, x)));
  for (size_t i = 0; i < transformer_blocks.size(); ++i) {
    h = transformer_blocks[i].forward(cx, h, here);
  }
  Tensor residual = tokens_of(x);
  return image_of(proj_out.forward(cx, h, &residual), x.size(2), x.size(3));
}

}  // namespace omnirt::nn
