#include "networks/qwen_image_transformer_2d_model/blocks.hpp"

#include <array>

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double qwen_image_eps = 1e-6;  // of all norms: in the reference's code, not in the config
constexpr int64_t qwen_image_waves = 256;

// Shift, scale and gate for one part of a block, {B, 1, D} each.
struct QwenImageModulation {
  Tensor shift, scale, gate;
};

// Those of the attention, then of the perceptron.
std::array<QwenImageModulation, 2> qwen_image_modulations(Context& cx, const nn::Linear& linear,
                                                          const Tensor& activated) {
  Tensor all = linear.forward(cx, activated).unsqueeze(1);
  int64_t dim = activated.size(1);
  auto part = [&](int64_t i) { return all.narrow(2, i * dim, dim); };
  return {QwenImageModulation{part(0), part(1), part(2)},
          QwenImageModulation{part(3), part(4), part(5)}};
}

Tensor qwen_image_modulated(Context& cx, const nn::LayerNorm& norm, const Tensor& x,
                            const QwenImageModulation& by) {
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, by.scale, by.shift});
}

nn::JointAttentionOptions qwen_image_attention(const QwenImageTransformer2DConfig& config) {
  return {.heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .eps = qwen_image_eps,
          .bias = true};
}

}  // namespace

QwenTimestepProjEmbeddings::QwenTimestepProjEmbeddings(Module* parent, const std::string& name,
                                                       int64_t dim)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder", {.in = qwen_image_waves, .out = dim}) {}

Tensor QwenTimestepProjEmbeddings::forward(Context& cx, const Tensor& timestep) const {
  Tensor waves = cx.ops().timestep_embedding(
      cx, {timestep, qwen_image_waves, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  return timestep_embedder.forward(cx, nn::in_form(cx, waves), nullptr);
}

QwenImageTransformerBlock::QwenImageTransformerBlock(Module* parent, const std::string& name,
                                                     const QwenImageTransformer2DConfig& config)
    : Module(parent, name),
      img_mod(this, "img_mod"),
      img_norm1(this, "img_norm1", config.inner_dim(), qwen_image_eps, /*affine=*/false),
      attn(this, "attn", qwen_image_attention(config)),
      img_norm2(this, "img_norm2", config.inner_dim(), qwen_image_eps, /*affine=*/false),
      img_mlp(this, "img_mlp", config.inner_dim(), 4 * config.inner_dim()),
      txt_mod(this, "txt_mod"),
      txt_norm1(this, "txt_norm1", config.inner_dim(), qwen_image_eps, /*affine=*/false),
      txt_norm2(this, "txt_norm2", config.inner_dim(), qwen_image_eps, /*affine=*/false),
      txt_mlp(this, "txt_mlp", config.inner_dim(), 4 * config.inner_dim()) {
  img_mod.add_at(1, config.inner_dim(), 6 * config.inner_dim());
  txt_mod.add_at(1, config.inner_dim(), 6 * config.inner_dim());
}

nn::TextAndImage QwenImageTransformerBlock::forward(Context& cx, const nn::TextAndImage& x,
                                                    const QwenImageCall& call) const {
  return cx.segment(path(), [&] {
    if (cx.site(path())) return x;
    const auto image = qwen_image_modulations(cx, img_mod[0], call.activated);
    const auto text = qwen_image_modulations(cx, txt_mod[0], call.activated);
    nn::TextAndImage normed{.text = qwen_image_modulated(cx, txt_norm1, x.text, text[0]),
                            .image = qwen_image_modulated(cx, img_norm1, x.image, image[0])};
    nn::TextAndImage y = attn.forward(cx, normed, call.rotary, call.bias);
    y.image = cx.ops().gate(cx, {y.image, image[0].gate, &x.image});
    y.text = cx.ops().gate(cx, {y.text, text[0].gate, &x.text});
    auto through = [&](const nn::LayerNorm& norm, const nn::GeluFeedForward& perceptron,
                       const Tensor& h, const QwenImageModulation& by) {
      if (cx.site(perceptron.path())) return h;
      Tensor made = perceptron.forward(cx, qwen_image_modulated(cx, norm, h, by));
      return cx.ops().gate(cx, {made, by.gate, &h});
    };
    return nn::TextAndImage{.text = through(txt_norm2, txt_mlp, y.text, text[1]),
                            .image = through(img_norm2, img_mlp, y.image, image[1])};
  });
}

QwenImageNormOut::QwenImageNormOut(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name),
      linear(this, "linear", dim, 2 * dim),
      norm(this, "norm", dim, qwen_image_eps, /*affine=*/false) {}

Tensor QwenImageNormOut::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  auto parts = linear.forward(cx, activated).unsqueeze(1).chunk(2, 2);
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, /*scale=*/parts[0], /*shift=*/parts[1]});
}

}  // namespace omnirt
