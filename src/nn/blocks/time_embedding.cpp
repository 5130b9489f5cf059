#include "nn/blocks/time_embedding.hpp"

#include "base/ensure.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {

TimestepEmbedding::TimestepEmbedding(Module* parent, const std::string& name,
                                     const TimestepEmbeddingOptions& options)
    : Module(parent, name),
      linear_1(this, "linear_1", options.in, options.out, options.bias),
      linear_2(this, "linear_2", options.out, options.result > 0 ? options.result : options.out,
               options.bias),
      options_(options) {
  if (options.cond > 0) cond_proj.emplace(this, "cond_proj", options.cond, options.in, false);
}

Tensor TimestepEmbedding::forward(Context& cx, const Tensor& sample, const Tensor* cond) const {
  ensure(!cond || cond_proj, "{} takes no condition", path());
  Tensor h = cond ? cond_proj->forward(cx, *cond, ops::Activation::none, &sample) : sample;
  h = linear_1.forward(cx, h, options_.activation);
  return linear_2.forward(cx, h, options_.post_activation);
}

Tensor TimestepEmbedding::embed(Context& cx, const Tensor& numbers) const {
  Tensor waves = cx.ops().timestep_embedding(
      cx, {numbers, linear_1.in(), /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  return forward(cx, in_form(cx, waves), nullptr);
}

}  // namespace omnirt::nn
