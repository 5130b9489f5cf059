#include "networks/rrdb_net/model.hpp"

#include <fmt/format.h>

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

constexpr double residual_share = 0.2;
constexpr nn::ConvEpilogue leaky{.activation = ops::Activation::leaky_relu};

// x + 0.2 made.
Tensor with_share(Context& cx, const Tensor& x, const Tensor& made) {
  return cx.ops().add(cx, {cx.ops().affine(cx, {made, residual_share, 0.0}), x});
}

std::vector<std::unique_ptr<nn::Conv2d>> doublings(nn::Module* parent,
                                                   const RRDBNetConfig& config) {
  std::vector<std::unique_ptr<nn::Conv2d>> made;
  for (int64_t i = 1; i <= config.num_upsample; ++i)
    made.push_back(std::make_unique<nn::Conv2d>(parent, fmt::format("conv_up{}", i),
                                                config.num_feat, config.num_feat));
  return made;
}

// "rdb1.conv1" as RealSR, BSRGAN and the first ESRGAN name it, with `suffix` after it.
nn::LayoutRule block_rule(const std::string& blocks, const std::string& suffix) {
  nn::LayoutRule block{"*", "*"};
  for (int part = 1; part <= 3; ++part) {
    nn::LayoutRule dense{fmt::format("rdb{}", part), fmt::format("RDB{}", part)};
    for (int conv = 1; conv <= 5; ++conv)
      dense.within.push_back({fmt::format("conv{}", conv), fmt::format("conv{}{}", conv, suffix)});
    block.within.push_back(dense);
  }
  nn::LayoutRule body{"body", blocks};
  body.within = {block};
  return body;
}

nn::OriginalLayout bsrgan_layout(size_t upsamples) {
  nn::OriginalLayout layout{"bsrgan",
                            {{"conv_first", "conv_first"},
                             block_rule("RRDB_trunk", ""),
                             {"conv_body", "trunk_conv"},
                             {"conv_hr", "HRconv"},
                             {"conv_last", "conv_last"}}};
  for (size_t i = 1; i <= upsamples; ++i)
    layout.rules.push_back({fmt::format("conv_up{}", i), fmt::format("upconv{}", i)});
  return layout;
}

// One sequence, in which what has no parameters is numbered too: an upsampling before and an
// activation after each convolution that doubles the sides.
nn::OriginalLayout esrgan_layout(size_t blocks, size_t upsamples) {
  nn::OriginalLayout layout{"esrgan",
                            {{"conv_first", "model.0"},
                             block_rule("model.1.sub", ".0"),
                             {"conv_body", fmt::format("model.1.sub.{}", blocks)},
                             {"conv_hr", fmt::format("model.{}", 3 * upsamples + 2)},
                             {"conv_last", fmt::format("model.{}", 3 * upsamples + 4)}}};
  for (size_t i = 1; i <= upsamples; ++i)
    layout.rules.push_back({fmt::format("conv_up{}", i), fmt::format("model.{}", 3 * i)});
  return layout;
}

}  // namespace

ResidualDenseBlock::ResidualDenseBlock(Module* parent, const std::string& name,
                                       const RRDBNetConfig& config)
    : Module(parent, name),
      conv1(this, "conv1", config.num_feat, config.num_grow_ch),
      conv2(this, "conv2", config.num_feat + config.num_grow_ch, config.num_grow_ch),
      conv3(this, "conv3", config.num_feat + 2 * config.num_grow_ch, config.num_grow_ch),
      conv4(this, "conv4", config.num_feat + 3 * config.num_grow_ch, config.num_grow_ch),
      conv5(this, "conv5", config.num_feat + 4 * config.num_grow_ch, config.num_feat) {}

Tensor ResidualDenseBlock::forward(Context& cx, const Tensor& x) const {
  Tensor seen = x;
  for (const nn::Conv2d* conv : {&conv1, &conv2, &conv3, &conv4})
    seen = cx.ops().concat(cx, {seen, conv->forward(cx, seen, leaky)});
  return with_share(cx, x, conv5.forward(cx, seen));
}

RRDB::RRDB(Module* parent, const std::string& name, const RRDBNetConfig& config)
    : Module(parent, name),
      rdb1(this, "rdb1", config),
      rdb2(this, "rdb2", config),
      rdb3(this, "rdb3", config) {}

Tensor RRDB::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] {
    Tensor h = rdb3.forward(cx, rdb2.forward(cx, rdb1.forward(cx, x)));
    return with_share(cx, x, h);
  });
}

RRDBNet::RRDBNet(const RRDBNetConfig& config, Json json)
    : Upscaler(std::move(json)),
      conv_first(this, "conv_first", channels * config.unshuffle * config.unshuffle,
                 config.num_feat),
      body(this, "body"),
      conv_body(this, "conv_body", config.num_feat, config.num_feat),
      conv_up(doublings(this, config)),
      conv_hr(this, "conv_hr", config.num_feat, config.num_feat),
      conv_last(this, "conv_last", config.num_feat, channels),
      config_(config) {
  for (int64_t i = 0; i < config.num_block; ++i) body.add(config);
}

nn::Metadata RRDBNet::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"RRDB"}, .repeated_blocks = {"RRDB"}});
}

std::vector<nn::OriginalLayout> RRDBNet::original_layouts() const {
  return {{.name = "basicsr", .rules = {{.network = "", .original = ""}}},
          bsrgan_layout(conv_up.size()),
          esrgan_layout(body.size(), conv_up.size())};
}

Tensor RRDBNet::upscale(Context& cx, const Tensor& image) const {
  Tensor squares = config_.unshuffle == 1 ? image : nn::packed_patches(image, config_.unshuffle);
  Tensor features = conv_first.forward(cx, nn::in_form(cx, squares));
  Tensor h = features;
  for (size_t i = 0; i < body.size(); ++i) h = body[i].forward(cx, h);
  h = conv_body.forward(cx, h, {.residual = &features});
  for (const auto& conv : conv_up) {
    nn::ConvEpilogue doubled = leaky;
    doubled.upsample_to = {2 * h.size(2), 2 * h.size(3)};
    h = conv->forward(cx, h, doubled);
  }
  return conv_last.forward(cx, conv_hr.forward(cx, h, leaky));
}

const nn::NetworkInfo& rrdb_net_info() {
  static const nn::NetworkInfo info{
      .class_name = "RRDBNet",
      .make = nn::network_of<RRDBNet, read_rrdb_net_config>,
      .summary = "the upscaler of ESRGAN and Real-ESRGAN",
      .weights_base = "diffusion_pytorch_model",
      .role = "upscaler",
      .from_tensors = {.signs = "an ESRGAN (body.0.rdb1.*, RRDB_trunk.* or model.1.sub.*)",
                       .config = rrdb_net_config,
                       .layout = rrdb_net_layout,
                       .prefixes = {"", "params_ema.", "params."}},
  };
  return info;
}

}  // namespace omnirt
