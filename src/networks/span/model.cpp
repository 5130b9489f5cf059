#include "networks/span/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

constexpr int64_t gain = 2;  // how much wider the convolutions in a row are
constexpr int64_t taps = 9;
constexpr std::array rgb_mean{0.4488, 0.4371, 0.4040};  // of the data it was trained on (DIV2K)
constexpr double value_range = 255.0;
constexpr nn::Conv2dOptions inner{.padding = {0, 0, 0, 0}};

// {rows, columns, 1, 1} as the matrix that it is, in the type of this execution.
Tensor matrix(Context& cx, const Param& weight) {
  return cx[weight].to(cx.dtype()).reshape({weight.shape[0], weight.shape[1]});
}

// (x - mean) * 255, channel by channel.
Tensor normalised(Context& cx, const Tensor& image) {
  auto channel = [&](int64_t i) {
    double mean = rgb_mean[static_cast<size_t>(i)];
    return cx.ops().affine(cx,
                           {image.narrow(1, i, 1).contiguous(), value_range, -value_range * mean});
  };
  Tensor first_two = cx.ops().concat(cx, {channel(0), channel(1)});
  return cx.ops().concat(cx, {first_two, channel(2)});
}

}  // namespace

Conv3XC::Conv3XC(Module* parent, const std::string& name, int64_t in, int64_t out)
    : Module(parent, name), sk_(this, "sk", in, out, nn::conv1x1), conv_(this, "conv") {
  conv_.add(in, in * gain, nn::conv1x1);
  conv_.add(in * gain, out * gain, inner);
  conv_.add(out * gain, out, nn::conv1x1);
}

// The convolutions in a row are one: for each of the 3x3 taps the product of three matrices. The
// parallel one is added to the tap in the middle.
Tensor Conv3XC::merged_weight(Context& cx) const {
  const auto& shape = conv_[1].weight.shape;
  int64_t in = sk_.in(), out = sk_.out(), wide_in = shape[1], wide_out = shape[0];
  Tensor middle = cx[conv_[1].weight].to(cx.dtype()).reshape({wide_out, wide_in * taps});
  Tensor last = cx.ops().linear(cx, {matrix(cx, conv_[2].weight), middle.t().contiguous()});
  Tensor by_tap = last.view({out, wide_in, taps}).transpose(1, 2).contiguous();
  Tensor first = matrix(cx, conv_[0].weight).t().contiguous();
  by_tap = cx.ops().linear(cx, {by_tap, first});  // {out, taps, in}
  auto part = [&](int64_t from, int64_t count) {
    return by_tap.narrow(1, from, count).contiguous();
  };
  constexpr int64_t centre = taps / 2;
  Tensor beside = matrix(cx, sk_.weight).view({out, 1, in});
  Tensor with_it = cx.ops().add(cx, {part(centre, 1), beside});
  Tensor whole = cx.ops().concat(cx, {part(0, centre), with_it});
  whole = cx.ops().concat(cx, {whole, part(centre + 1, centre)});
  return whole.transpose(1, 2).contiguous().view({out, in, 3, 3});
}

Tensor Conv3XC::merged_bias(Context& cx) const {
  const auto& shape = conv_[1].weight.shape;
  int64_t out = sk_.out(), wide_in = shape[1], wide_out = shape[0];
  auto bias = [&](const nn::Conv2d& conv) { return cx[conv.bias].to(cx.dtype()); };
  Tensor middle = cx[conv_[1].weight].to(cx.dtype()).reshape({wide_out, wide_in * taps});
  Tensor at_taps =
      bias(conv_[0]).view({wide_in, 1}).expand({wide_in, taps}).reshape({1, wide_in * taps});
  Tensor of_middle = bias(conv_[1]), of_last = bias(conv_[2]);
  Tensor beside = bias(sk_).view({1, out});
  Tensor made = cx.ops().linear(cx, {at_taps, middle, &of_middle});
  Tensor last = matrix(cx, conv_[2].weight);
  made = cx.ops().linear(cx, {made, last, &of_last, ops::Activation::none, &beside});
  return made.view({out});
}

Tensor Conv3XC::forward(Context& cx, const Tensor& x, ops::Activation activation) const {
  Tensor weight = merged_weight(cx), bias = merged_bias(cx);
  return cx.ops().conv2d(
      cx,
      {.x = x, .weight = weight, .bias = &bias, .padding = {1, 1, 1, 1}, .activation = activation});
}

Spab::Spab(Module* parent, const std::string& name, int64_t channels)
    : Module(parent, name),
      c1_r_(this, "c1_r", channels, channels),
      c2_r_(this, "c2_r", channels, channels),
      c3_r_(this, "c3_r", channels, channels) {}

Spab::Output Spab::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] {
    Tensor first = c1_r_.forward(cx, x, ops::Activation::silu);
    Tensor second = c2_r_.forward(cx, first, ops::Activation::silu);
    Tensor third = c3_r_.forward(cx, second);
    // (third + x) * (sigmoid(third) - 1/2); a sigmoid less 1/2 is tanh(third / 2) / 2.
    Tensor attention = cx.ops().soft_clamp(cx, {third, 2.0});
    Tensor sum = cx.ops().add(cx, {third, x, 0.25});
    return Output{cx.ops().gate(cx, {sum, attention}), first};
  });
}

Span::Span(const SpanConfig& config, Json json)
    : Upscaler(std::move(json)),
      config_(config),
      conv_1_(this, "conv_1", channels, config.feature_channels),
      block_1_(this, "block_1", config.feature_channels),
      block_2_(this, "block_2", config.feature_channels),
      block_3_(this, "block_3", config.feature_channels),
      block_4_(this, "block_4", config.feature_channels),
      block_5_(this, "block_5", config.feature_channels),
      block_6_(this, "block_6", config.feature_channels),
      conv_cat_(this, "conv_cat", 4 * config.feature_channels, config.feature_channels,
                nn::conv1x1),
      conv_2_(this, "conv_2", config.feature_channels, config.feature_channels),
      upsampler_(this, "upsampler") {
  upsampler_.add(config.feature_channels, channels * config.upscale * config.upscale);
}

nn::Metadata Span::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"SPAB"}, .repeated_blocks = {"SPAB"}});
}

nn::WeightMap Span::weight_map() const {
  nn::WeightMap map;
  map.ignored.emplace_back("no_norm");
  visit([&](const nn::Module& module) {
    if (std::string_view(module.class_name()) != "Conv3XC") return;
    for (const char* name : {".eval_conv.weight", ".eval_conv.bias"})
      map.ignored.push_back(module.path() + name);
  });
  return map;
}

std::vector<nn::OriginalLayout> Span::original_layouts() const {
  return {{.name = "span",
           .rules = {{.network = "", .original = ""}},
           .leftovers = weight_map().ignored}};
}

Tensor Span::upscale(Context& cx, const Tensor& image) const {
  Tensor x = config_.norm ? normalised(cx, image.to(cx.dtype())) : image;
  Tensor first = conv_1_.forward(cx, nn::in_form(cx, x));
  Spab::Output one = block_1_.forward(cx, first);
  Tensor h = one.result;
  for (const Spab* block : {&block_2_, &block_3_, &block_4_, &block_5_})
    h = block->forward(cx, h).result;
  Spab::Output last = block_6_.forward(cx, h);
  Tensor all = cx.ops().concat(cx, {first, conv_2_.forward(cx, last.result)});
  all = cx.ops().concat(cx, {all, one.result});
  all = cx.ops().concat(cx, {all, last.first});
  return nn::unpacked_patches(upsampler_[0].forward(cx, conv_cat_.forward(cx, all)),
                              config_.upscale);
}

const nn::NetworkInfo& span_info() {
  static const nn::NetworkInfo info{
      .class_name = "SPAN",
      .make = nn::network_of<Span, read_span_config>,
      .summary = "the upscaler SPAN, attention without parameters",
      .weights_base = "diffusion_pytorch_model",
      .role = "upscaler",
      .from_tensors = {.signs = "a SPAN (conv_1.sk.*, block_6.c3_r.*, upsampler.0.*)",
                       .config = span_config,
                       .layout = [](const auto&) { return std::string("span"); },
                       .prefixes = {"", "params_ema.", "params."}},
  };
  return info;
}

}  // namespace omnirt
