#include "nn/blocks/time_text_embedding.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr int64_t timestep_channels = 256;

TimestepEmbeddingOptions embedding_of(const TimeTextEmbeddingOptions& options) {
  return {.in = timestep_channels, .out = options.out};
}

}  // namespace

TimeTextEmbedding::TimeTextEmbedding(Module* parent, const std::string& name,
                                     const TimeTextEmbeddingOptions& options)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder", embedding_of(options)),
      text_embedder(this, "text_embedder", {.in = options.pooled, .out = options.out}) {
  if (options.guidance) guidance_embedder.emplace(this, "guidance_embedder", embedding_of(options));
}

Tensor TimeTextEmbedding::forward(Context& cx, const Tensor& timestep, const Tensor* guidance,
                                  const Tensor& pooled) const {
  Tensor text = cx.once(text_embedder.path(), pooled,
                        [&] { return text_embedder.forward(cx, in_form(cx, pooled), nullptr); });
  Tensor time = timestep_embedder.embed(cx, timestep);
  if (guidance && guidance_embedder) {
    Tensor thousandfold = cx.ops().affine(cx, {*guidance, 1000.0, 0.0});
    Tensor guided = guidance_embedder->embed(cx, thousandfold);
    time = cx.ops().add(cx, {time, guided});
  }
  return cx.ops().add(cx, {time, text});
}

}  // namespace omnirt::nn
