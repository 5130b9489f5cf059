#include "networks/sana_transformer_2d_model/guided_time.hpp"

namespace omnirt {

SanaGuidedTime::SanaGuidedTime(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder", {.in = nn::wave_width, .out = dim}),
      guidance_embedder(this, "guidance_embedder", {.in = nn::wave_width, .out = dim}),
      linear(this, "linear", dim, 6 * dim) {}

nn::AdaLayerNormSingle::Result SanaGuidedTime::forward(Context& cx, const Tensor& timestep,
                                                       const Tensor& guidance) const {
  Tensor time = timestep_embedder.forward(cx, nn::waves(cx, timestep), nullptr);
  Tensor guided = guidance_embedder.forward(cx, nn::waves(cx, guidance), nullptr);
  Tensor embedded = cx.ops().add(cx, {time, guided});
  Tensor activated = cx.ops().activate(cx, {embedded, ops::Activation::silu});
  Tensor modulation = linear.forward(cx, activated);
  return {modulation.view({embedded.size(0), 6, embedded.size(1)}), embedded.unsqueeze(1)};
}

}  // namespace omnirt
