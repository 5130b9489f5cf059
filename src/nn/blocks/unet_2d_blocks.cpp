#include "nn/blocks/unet_2d_blocks.hpp"

namespace omnirt::nn {
namespace {

ResnetOptions resnet(const UNetLevelOptions& options, int64_t in) {
  ResnetOptions resnet = options.resnet;
  resnet.in = in;
  resnet.out = options.out;
  return resnet;
}

// After the resnet `i`.
TransformerOptions transformer(const UNetLevelOptions& options, int64_t i) {
  TransformerOptions transformer = options.transformer;
  if (!options.depths.empty()) transformer.layers = options.depths[static_cast<size_t>(i)];
  return transformer;
}

}  // namespace

UNetDownBlock2D::UNetDownBlock2D(Module* parent, const std::string& name,
                                 const UNetLevelOptions& options)
    : Module(parent, name),
      attentions(this, "attentions"),
      resnets(this, "resnets"),
      downsamplers(this, "downsamplers") {
  for (int64_t i = 0; i < options.layers; ++i) {
    resnets.add(resnet(options, i == 0 ? options.in : options.out));
    if (options.cross_attention) attentions.add(options.out, transformer(options, i));
  }
  if (options.resample) downsamplers.add(options.out, options.downsample_padding);
}

const char* UNetDownBlock2D::class_name() const {
  return attentions.empty() ? "DownBlock2D" : "CrossAttnDownBlock2D";
}

Tensor UNetDownBlock2D::layer(Context& cx, size_t i, const Tensor& x, const Tensor& temb,
                              const AttentionContext& context) const {
  if (i == resnets.size()) return downsamplers[0].forward(cx, x);
  Tensor h = resnets[i].forward(cx, x, &temb);
  return attentions.empty() ? h : attentions[i].forward(cx, h, context);
}

UNetMidBlock2D::UNetMidBlock2D(Module* parent, const std::string& name,
                               const UNetLevelOptions& options)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  resnets.add(resnet(options, options.in));
  if (!options.cross_attention) return;
  attentions.add(options.out, options.transformer);
  resnets.add(resnet(options, options.out));
}

const char* UNetMidBlock2D::class_name() const {
  return attentions.empty() ? "UNetMidBlock2D" : "UNetMidBlock2DCrossAttn";
}

Tensor UNetMidBlock2D::forward(Context& cx, Tensor x, const Tensor& temb,
                               const AttentionContext& context) const {
  x = resnets[0].forward(cx, x, &temb);
  for (size_t i = 0; i < attentions.size(); ++i) {
    x = attentions[i].forward(cx, x, context);
    x = resnets[i + 1].forward(cx, x, &temb);
  }
  return x;
}

UNetUpBlock2D::UNetUpBlock2D(Module* parent, const std::string& name,
                             const UNetLevelOptions& options)
    : Module(parent, name),
      attentions(this, "attentions"),
      resnets(this, "resnets"),
      upsamplers(this, "upsamplers") {
  for (int64_t i = 0; i < options.layers; ++i) {
    int64_t skip = i == options.layers - 1 ? options.skip : options.out;
    resnets.add(resnet(options, (i == 0 ? options.in : options.out) + skip));
    if (options.cross_attention) attentions.add(options.out, transformer(options, i));
  }
  if (options.resample) upsamplers.add(options.out);
}

const char* UNetUpBlock2D::class_name() const {
  return attentions.empty() ? "UpBlock2D" : "CrossAttnUpBlock2D";
}

Tensor UNetUpBlock2D::layer(Context& cx, size_t i, const Tensor& x, const Tensor& temb,
                            const AttentionContext& context, std::vector<Tensor>& skips) const {
  Tensor h = cx.ops().concat(cx, {x, skips.back()});
  skips.pop_back();
  h = resnets[i].forward(cx, h, &temb);
  if (!attentions.empty()) h = attentions[i].forward(cx, h, context);
  if (i + 1 < resnets.size() || upsamplers.empty()) return h;
  // Twice the size, except for odd sizes, which the down path rounded up.
  return upsamplers[0].forward(cx, h, {skips.back().size(2), skips.back().size(3)});
}

}  // namespace omnirt::nn
