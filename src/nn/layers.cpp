#include "nn/layers.hpp"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>

#include <optional>

#include "base/error.hpp"
#include "nn/beside.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {

Linear::Linear(Module* parent, const std::string& name, int64_t in, int64_t out, bool with_bias)
    : Module(parent, name),
      weight(param("weight", {out, in})),
      bias(param("bias", {out}, with_bias)) {
  own(weight);
  own(bias);
}

Tensor Linear::forward(Context& cx, const Tensor& x, ops::Activation activation,
                       const Tensor* residual) const {
  Tensor beside = beside_linear(cx, weight, x, residual);
  return cx.ops().linear(cx, {x, cx.as_encoded(weight), cx.maybe(bias), activation,
                              beside.defined() ? &beside : residual, cx.packing(weight)});
}

Tensor Linear::forward_once(Context& cx, const Tensor& x) const {
  return cx.once(path(), x, [&] { return forward(cx, in_form(cx, x)); });
}

Conv2d::Conv2d(Module* parent, const std::string& name, int64_t in, int64_t out,
               Conv2dOptions options)
    : Module(parent, name),
      weight(param("weight", {out, in, options.kernel, options.kernel})),
      bias(param("bias", {out}, options.bias)),
      options_(options) {
  own(weight);
  own(bias);
}

Tensor Conv2d::forward(Context& cx, const Tensor& x, const ConvEpilogue& epilogue) const {
  std::optional<ops::InputNorm> norm;
  if (epilogue.norm) norm = epilogue.norm->spec(cx, epilogue.norm_activation);
  ops::Conv2d args{.x = x,
                   .weight = cx.as_encoded(weight),
                   .bias = cx.maybe(bias),
                   .stride = options_.stride,
                   .padding = options_.padding,
                   .activation = epilogue.activation,
                   .residual = epilogue.residual,
                   .upsample_to = epilogue.upsample_to,
                   .sample_bias = epilogue.sample_bias,
                   .norm = norm ? &*norm : nullptr,
                   .into = epilogue.into,
                   .pack = cx.packing(weight)};
  Tensor beside = beside_conv2d(cx, weight, args);
  if (beside.defined()) {
    args.residual = &beside;
    args.into = nullptr;
  }
  return cx.ops().conv2d(cx, args);
}

GroupNorm::GroupNorm(Module* parent, const std::string& name, int64_t groups, int64_t channels,
                     double eps)
    : Module(parent, name),
      weight(param("weight", {channels})),
      bias(param("bias", {channels})),
      groups_(groups),
      eps_(eps) {
  own(weight);
  own(bias);
}

Tensor GroupNorm::forward(Context& cx, const Tensor& x, ops::Activation activation) const {
  return cx.ops().group_norm(cx, {x, cx.maybe(weight), cx.maybe(bias), groups_, eps_, activation});
}

LayerNorm::LayerNorm(Module* parent, const std::string& name, int64_t dim, double eps, bool affine)
    : Module(parent, name),
      weight(param("weight", {dim}, affine)),
      bias(param("bias", {dim}, affine)),
      eps_(eps) {
  own(weight);
  own(bias);
}

Tensor LayerNorm::forward(Context& cx, const Tensor& x) const {
  return cx.ops().layer_norm(cx, {x, cx.maybe(weight), cx.maybe(bias), eps_});
}

RmsNorm::RmsNorm(Module* parent, const std::string& name, int64_t dim, double eps, bool from_one)
    : Module(parent, name), weight(param("weight", {dim})), eps_(eps), from_one_(from_one) {
  own(weight);
}

Tensor RmsNorm::forward(Context& cx, const Tensor& x) const {
  if (!from_one_) return cx.ops().rms_norm(cx, {x, cx[weight], eps_});
  return cx.ops().rms_norm(cx, {x, cx.ops().affine(cx, {cx[weight], 1.0, 1.0}), eps_});
}

Embedding::Embedding(Module* parent, const std::string& name, int64_t entries, int64_t dim)
    : Module(parent, name), weight(param("weight", {entries, dim})) {
  own(weight);
}

Tensor Embedding::forward(Context& cx, const Tensor& indices) const {
  return cx.ops().embedding(cx, {indices, cx.as_encoded(weight), cx.dtype(), cx.packing(weight)});
}

void check_token_ids(const Context& cx, const Tensor& ids, int64_t vocab_size) {
  if (cx.dry() || !ids.is_cpu() || ids.numel() == 0) return;
  auto [lowest, highest] = at::aminmax(ids);
  int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low >= 0 && high < vocab_size) return;
  throw InvalidRequest({"input_ids", fmt::format("{}", low < 0 ? low : high),
                        fmt::format("the text encoder's vocabulary has {} entries", vocab_size),
                        "use the tokenizer that belongs to this text encoder"});
}

}  // namespace omnirt::nn
