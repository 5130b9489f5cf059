#include "networks/t2i_adapter/model.hpp"

#include <ATen/ops/replication_pad2d.h>

#include "base/ensure.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

// Halved by averaging. Where a side is odd its last pixels are windows of their own, as the
// reference's pooling in ceil mode has it: the same as windows over pixels that are repeated.
Tensor halved(Context& cx, const Tensor& x) {
  int64_t below = x.size(2) % 2, right = x.size(3) % 2;
  if (below == 0 && right == 0) return cx.ops().avg_pool2d(cx, {x, 2});
  // allocates: odd sides alone, once per run.
  return cx.ops().avg_pool2d(cx, {at::replication_pad2d(x, {0, right, 0, below}), 2});
}

// What the blocks are, from the largest feature down.
std::vector<AdapterBlock::Options> blocks_of(const T2IAdapterConfig& config) {
  const auto& channels = config.channels;
  std::vector<AdapterBlock::Options> blocks;
  auto add = [&](int64_t in, int64_t out, bool down, bool light) {
    blocks.push_back({in, out, config.num_res_blocks, down, light});
  };
  int64_t unshuffled_channels =
      config.in_channels * config.downscale_factor * config.downscale_factor;
  for (size_t i = 0; i < channels.size(); ++i) {
    int64_t before = channels[i == 0 ? 0 : i - 1];
    if (config.adapter_type == "light_adapter")
      add(i == 0 ? unshuffled_channels : before, channels[i], i > 0, true);
    else if (config.adapter_type == "full_adapter_xl")
      // The second block widens, the third halves; all others keep what they are given.
      add(i == 1 || i == 2 ? before : channels[i], channels[i], i == 2, false);
    else
      add(before, channels[i], i > 0, false);
  }
  // A light adapter has one feature more than it has widths.
  if (config.adapter_type == "light_adapter") add(channels.back(), channels.back(), true, true);
  return blocks;
}

}  // namespace

AdapterResnetBlock::AdapterResnetBlock(Module* parent, const std::string& name, int64_t channels,
                                       bool light)
    : Module(parent, name),
      block1(this, "block1", channels, channels),
      block2(this, "block2", channels, channels, light ? nn::Conv2dOptions{} : nn::conv1x1),
      light_(light) {}

Tensor AdapterResnetBlock::forward(Context& cx, const Tensor& x) const {
  Tensor h = block1.forward(cx, x, {.activation = ops::Activation::relu});
  return block2.forward(cx, h, {.residual = &x});
}

AdapterBlock::AdapterBlock(Module* parent, const std::string& name, const Options& options)
    : Module(parent, name), resnets(this, "resnets"), options_(options) {
  int64_t width = options.light ? options.out / 4 : options.out;
  if (options.light || options.in != options.out)
    in_conv.emplace(this, "in_conv", options.in, width, nn::conv1x1);
  for (int64_t i = 0; i < options.resnets; ++i) resnets.add(width, options.light);
  if (options.light) out_conv.emplace(this, "out_conv", width, options.out, nn::conv1x1);
}

Tensor AdapterBlock::forward(Context& cx, const Tensor& x) const {
  Tensor h = options_.down ? halved(cx, x) : x;
  if (in_conv) h = in_conv->forward(cx, h);
  for (size_t i = 0; i < resnets.size(); ++i) h = resnets[i].forward(cx, h);
  return out_conv ? out_conv->forward(cx, h) : h;
}

AdapterTree::AdapterTree(Module* parent, const std::string& name, const T2IAdapterConfig& config)
    : Module(parent, name), body(this, "body"), type_(config.adapter_type) {
  int64_t in = config.in_channels * config.downscale_factor * config.downscale_factor;
  if (type_ != "light_adapter") conv_in.emplace(this, "conv_in", in, config.channels.front());
  for (const auto& block : blocks_of(config)) body.add(block);
}

const char* AdapterTree::class_name() const {
  if (type_ == "light_adapter") return "LightAdapter";
  return type_ == "full_adapter_xl" ? "FullAdapterXL" : "FullAdapter";
}

T2IAdapter::T2IAdapter(const T2IAdapterConfig& config, Json json)
    : Network(std::move(json)), adapter(this, "adapter", config), config_(config) {}

nn::Metadata T2IAdapter::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {"AdapterResnetBlock", "LightAdapterResnetBlock"}});
}

std::vector<Tensor> T2IAdapter::forward(Context& cx, const Tensor& image) const {
  int64_t factor = config_.downscale_factor;
  ensure(image.size(2) % factor == 0 && image.size(3) % factor == 0,
         "an adapter's image of {}x{} is no multiple of {}", image.size(3), image.size(2), factor);
  Tensor x = nn::in_form(cx, nn::packed_patches(image, factor));
  if (adapter.conv_in) x = adapter.conv_in->forward(cx, x);
  std::vector<Tensor> features;
  for (size_t i = 0; i < adapter.body.size(); ++i)
    features.push_back(x = adapter.body[i].forward(cx, x));
  return features;
}

std::vector<std::array<int64_t, 3>> T2IAdapter::feature_shapes(int64_t height,
                                                               int64_t width) const {
  height /= config_.downscale_factor;
  width /= config_.downscale_factor;
  std::vector<std::array<int64_t, 3>> shapes;
  for (size_t i = 0; i < adapter.body.size(); ++i) {
    if (adapter.body[i].down()) {
      height = (height + 1) / 2;
      width = (width + 1) / 2;
    }
    shapes.push_back({adapter.body[i].out(), height, width});
  }
  return shapes;
}

const nn::NetworkInfo& t2i_adapter_info() {
  static const nn::NetworkInfo info{
      .class_name = "T2IAdapter",
      .make = nn::network_of<T2IAdapter, read_t2i_adapter_config>,
      .summary = "a control image's features for Stable Diffusion's UNet",
      .weights_base = "diffusion_pytorch_model",
      .role = "t2i_adapter",
  };
  return info;
}

}  // namespace omnirt
