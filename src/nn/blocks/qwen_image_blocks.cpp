#include "nn/blocks/qwen_image_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/ensure.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr double qwen_image_eps = 1e-6;  // of all norms: in the reference's code, not in the config
constexpr int64_t qwen_image_waves = 256;

// Shift, scale and gate for one part of a block, {B, 1, D} each.
struct QwenImageModulation {
  Tensor shift, scale, gate;
};

// Those of the attention, then of the perceptron.
std::array<QwenImageModulation, 2> qwen_image_modulations(Context& cx, const Linear& linear,
                                                          const Tensor& activated) {
  Tensor all = linear.forward(cx, activated).unsqueeze(1);
  int64_t dim = activated.size(1);
  auto part = [&](int64_t i) { return all.narrow(2, i * dim, dim); };
  return {QwenImageModulation{part(0), part(1), part(2)},
          QwenImageModulation{part(3), part(4), part(5)}};
}

Tensor qwen_image_modulated(Context& cx, const LayerNorm& norm, const Tensor& x,
                            const QwenImageModulation& by) {
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, by.scale, by.shift});
}

// What an image's tokens are modulated by, those of reference images maybe by something else.
class ImageModulation {
 public:
  ImageModulation(Context& cx, const Linear& linear, const QwenImageCall& call)
      : made_(call.height * call.width),
        of_made_(qwen_image_modulations(cx, linear, call.activated)) {
    if (call.of_references.defined())
      of_references_ = qwen_image_modulations(cx, linear, call.of_references);
  }

  Tensor modulated(Context& cx, const LayerNorm& norm, const Tensor& x, size_t part) const {
    const Tensor normed = norm.forward(cx, x);
    return apart(cx, normed, [&](const Tensor& tokens, int64_t, const auto& by) {
      return cx.ops().modulate(cx, {tokens, by[part].scale, by[part].shift});
    });
  }

  Tensor gated(Context& cx, const Tensor& y, const Tensor& residual, size_t part) const {
    return apart(cx, y, [&](const Tensor& tokens, int64_t first, const auto& by) {
      const Tensor kept = residual.narrow(1, first, tokens.size(1));
      return cx.ops().gate(cx, {tokens, by[part].gate, &kept});
    });
  }

 private:
  template <class Body>
  Tensor apart(Context& cx, const Tensor& x, const Body& body) const {
    if (!of_references_) return body(x, 0, of_made_);
    const int64_t rest = x.size(1) - made_;
    const Tensor made = body(x.narrow(1, 0, made_), 0, of_made_);
    const Tensor references = body(x.narrow(1, made_, rest), made_, *of_references_);
    return cx.ops().concat(cx, {made, references});
  }

  int64_t made_;
  std::array<QwenImageModulation, 2> of_made_;
  std::optional<std::array<QwenImageModulation, 2>> of_references_;
};

JointAttentionOptions qwen_image_attention(const QwenImageTransformer2DConfig& config) {
  return {.heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .eps = qwen_image_eps,
          .bias = true};
}

constexpr double qwen_image_theta = 10000;  // in the reference's code, not in the config

}  // namespace

Tensor from_the_middle(Context& cx, const Tensor& positions, int64_t height, int64_t width,
                       double frame) {
  auto counted = [&](int64_t axis, int64_t size) {
    Tensor values = positions.narrow(1, axis, 1);
    return cx.ops().affine(cx, {values, 1.0, -static_cast<double>(size - size / 2)});
  };
  Tensor rows = counted(1, height), columns = counted(2, width);
  Tensor frames = positions.narrow(1, 0, 1);
  if (frame != 0.0) frames = cx.ops().affine(cx, {frames, 1.0, frame});
  Tensor first = cx.ops().concat(cx, {frames, rows});
  return cx.ops().concat(cx, {first, columns});
}

Tensor qwen_image_rotary(Context& cx, const std::vector<int64_t>& axes, const QwenImagePlaces& at) {
  const int64_t texts = at.text_ids ? at.text_ids->size(1) : at.text.size(1);
  // Conditions may share a text of which one has further texts before it.
  const std::string site = fmt::format("rotary of {} and {}x{}", texts, at.height, at.width);
  return cx.once(site, at.text, [&] {
    Tensor all = cx.ops().token_positions(cx, {at.text, texts, at.height, at.width});
    Tensor places = at.text_ids ? at.text_ids->narrow(0, 0, 1).transpose(0, 1)
                                : all.narrow(0, 0, texts).narrow(1, 3, 1);
    if (at.text_start) {
      Tensor start = at.text_start->narrow(0, 0, 1);
      places = cx.ops().add(cx, {places, start});
    } else {
      auto start = static_cast<double>(std::max(at.height / 2, at.width / 2));
      places = cx.ops().affine(cx, {places, 1.0, start});
    }
    Tensor of_text = places.expand({texts, 3}).unsqueeze(0);
    Tensor image = all.narrow(0, texts, at.height * at.width);
    Tensor of_image = at.sample_ids ? at.sample_ids->narrow(0, 0, 1)
                                    : from_the_middle(cx, image, at.height, at.width).unsqueeze(0);
    Tensor positions = cx.ops().concat(cx, {of_text, of_image});
    if (at.reference_ids) {
      Tensor ids = at.reference_ids->narrow(0, 0, 1);
      positions = cx.ops().concat(cx, {positions, ids});
    }
    Tensor each = positions.squeeze(0);
    return cx.ops().rotary_table(cx, {.x = each, .axes = axes, .theta = qwen_image_theta});
  });
}

Tensor qwen_image_bias(Context& cx, const Tensor& mask, const Tensor& tokens) {
  return cx.once(fmt::format("bias {}", tokens.size(1)), mask, [&] {
    Tensor first = tokens.select(2, 0);
    Tensor ones = cx.ops().affine(cx, {first, 0.0, 1.0});
    Tensor of_text = in_form(cx, mask);
    Tensor all = cx.ops().concat(cx, {of_text, ones});
    return cx.ops().key_mask(cx, {all, cx.dtype()});
  });
}

QwenTimestepProjEmbeddings::QwenTimestepProjEmbeddings(Module* parent, const std::string& name,
                                                       int64_t dim, bool additional, bool bias)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder",
                        {.in = qwen_image_waves, .out = dim, .bias = bias}) {
  if (additional) addition_t_embedding.emplace(this, "addition_t_embedding", 2, dim);
}

Tensor QwenTimestepProjEmbeddings::forward(Context& cx, const Tensor& timestep,
                                           const Tensor* additional) const {
  Tensor made = timestep_embedder.embed(cx, timestep);
  if (!addition_t_embedding) return made;
  ensure(additional, "{} was not told what its additional embedding is of", path());
  Tensor more = addition_t_embedding->forward(cx, *additional);
  return cx.ops().add(cx, {made, more});
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

TokenStream QwenImageTransformerBlock::forward(Context& cx, const TokenStream& x,
                                               const QwenImageCall& call) const {
  const ImageModulation image(cx, img_mod[0], call);
  const auto text = qwen_image_modulations(cx, txt_mod[0], call.activated);
  TokenStream normed{.text = qwen_image_modulated(cx, txt_norm1, x.text, text[0]),
                     .image = image.modulated(cx, img_norm1, x.image, 0)};
  TokenStream y = attn.forward(cx, normed, call.rotary, null_if_undefined(call.bias));
  y.image = image.gated(cx, y.image, x.image, 0);
  y.text = cx.ops().gate(cx, {y.text, text[0].gate, &x.text});
  if (!cx.site(txt_mlp.path())) {
    Tensor made = txt_mlp.forward(cx, qwen_image_modulated(cx, txt_norm2, y.text, text[1]));
    y.text = cx.ops().gate(cx, {made, text[1].gate, &y.text});
  }
  if (!cx.site(img_mlp.path())) {
    Tensor made = img_mlp.forward(cx, image.modulated(cx, img_norm2, y.image, 1));
    y.image = image.gated(cx, made, y.image, 1);
  }
  return y;
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

}  // namespace omnirt::nn
