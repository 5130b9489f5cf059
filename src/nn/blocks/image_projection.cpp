#include "nn/blocks/image_projection.hpp"

namespace omnirt::nn {

ImageProjection::ImageProjection(Module* parent, const std::string& name, const Sizes& sizes)
    : Module(parent, name),
      proj(this, "proj", sizes.image_embed_dim, sizes.num_tokens * sizes.cross_attention_dim),
      norm(this, "norm", sizes.cross_attention_dim, 1e-5),
      tokens_(sizes.num_tokens) {}

Tensor ImageProjection::forward(Context& cx, const Tensor& image_embeds) const {
  Tensor tokens = proj.forward(cx, image_embeds);
  return norm.forward(cx, tokens.view({tokens.size(0), tokens_, tokens.size(1) / tokens_}));
}

}  // namespace omnirt::nn
