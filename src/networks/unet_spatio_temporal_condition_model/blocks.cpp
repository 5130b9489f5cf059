#include "networks/unet_spatio_temporal_condition_model/blocks.hpp"

#include "networks/unet_spatio_temporal_condition_model/config.hpp"

namespace omnirt {
namespace {

// The reference's blocks set these themselves, one on the down path with transformers and the up
// path, the other elsewhere.
constexpr double fine_eps = 1e-6, coarse_eps = 1e-5;
constexpr int64_t padded = 1;

nn::SpatioTemporalOptions resnet(const SpatioTemporalBlockOptions& options, int64_t in,
                                 double eps) {
  return {.resnet = {.in = in,
                     .out = options.out,
                     .temb = options.temb,
                     .groups = spatio_temporal_groups,
                     .eps = eps},
          .temporal_eps = eps};
}

}  // namespace

SpatioTemporalDownBlock::SpatioTemporalDownBlock(Module* parent, const std::string& name,
                                                 const SpatioTemporalBlockOptions& options)
    : Module(parent, name),
      attentions(this, "attentions"),
      resnets(this, "resnets"),
      downsamplers(this, "downsamplers") {
  for (int64_t i = 0; i < options.layers; ++i) {
    resnets.add(resnet(options, i == 0 ? options.in : options.out,
                       options.cross_attention ? fine_eps : coarse_eps));
    if (options.cross_attention) attentions.add(options.out, options.transformer);
  }
  if (options.resample) downsamplers.add(options.out, padded);
}

const char* SpatioTemporalDownBlock::class_name() const {
  return attentions.empty() ? "DownBlockSpatioTemporal" : "CrossAttnDownBlockSpatioTemporal";
}

Tensor SpatioTemporalDownBlock::forward(Context& cx, Tensor x, const VideoCall& call,
                                        std::vector<Tensor>& skips) const {
  for (size_t i = 0; i < resnets.size(); ++i) {
    x = resnets[i].forward(cx, x, call.frames, &call.time);
    if (!attentions.empty()) x = attentions[i].forward(cx, x, call);
    skips.push_back(x);
  }
  if (downsamplers.empty()) return x;
  x = downsamplers[0].forward(cx, x);
  skips.push_back(x);
  return x;
}

UNetMidBlockSpatioTemporal::UNetMidBlockSpatioTemporal(Module* parent, const std::string& name,
                                                       const SpatioTemporalBlockOptions& options)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  resnets.add(resnet(options, options.in, coarse_eps));
  attentions.add(options.out, options.transformer);
  resnets.add(resnet(options, options.out, coarse_eps));
}

Tensor UNetMidBlockSpatioTemporal::forward(Context& cx, Tensor x, const VideoCall& call) const {
  x = resnets[0].forward(cx, x, call.frames, &call.time);
  x = attentions[0].forward(cx, x, call);
  return resnets[1].forward(cx, x, call.frames, &call.time);
}

SpatioTemporalUpBlock::SpatioTemporalUpBlock(Module* parent, const std::string& name,
                                             const SpatioTemporalBlockOptions& options)
    : Module(parent, name),
      attentions(this, "attentions"),
      resnets(this, "resnets"),
      upsamplers(this, "upsamplers") {
  for (int64_t i = 0; i < options.layers; ++i) {
    int64_t skip = i == options.layers - 1 ? options.skip : options.out;
    resnets.add(resnet(options, (i == 0 ? options.in : options.out) + skip, fine_eps));
    if (options.cross_attention) attentions.add(options.out, options.transformer);
  }
  if (options.resample) upsamplers.add(options.out);
}

const char* SpatioTemporalUpBlock::class_name() const {
  return attentions.empty() ? "UpBlockSpatioTemporal" : "CrossAttnUpBlockSpatioTemporal";
}

Tensor SpatioTemporalUpBlock::forward(Context& cx, Tensor x, const VideoCall& call,
                                      std::vector<Tensor>& skips) const {
  for (size_t i = 0; i < resnets.size(); ++i) {
    x = cx.ops().concat(cx, {x, skips.back()});
    skips.pop_back();
    x = resnets[i].forward(cx, x, call.frames, &call.time);
    if (!attentions.empty()) x = attentions[i].forward(cx, x, call);
  }
  if (upsamplers.empty()) return x;
  // Twice the size, except for odd sizes, which the down path rounded up.
  return upsamplers[0].forward(cx, x, {skips.back().size(2), skips.back().size(3)});
}

}  // namespace omnirt
