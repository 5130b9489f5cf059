#include "nn/blocks/joint_attention.hpp"

#include <cmath>

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

// Normalised over each head: {B, T, heads, d}.
Tensor normed_heads(Context& cx, const RmsNorm& norm, const Tensor& x, int64_t heads) {
  return norm.forward(cx, x.view({x.size(0), x.size(1), heads, x.size(2) / heads}));
}

Tensor turned(Context& cx, const Tensor& x, const Tensor& rotary) {
  return cx.ops().rotary(cx, {x, rotary, ops::RotaryPairs::neighbours}).flatten(2);
}

}  // namespace

Tensor turned_heads(Context& cx, const RmsNorm& norm, const Tensor& x, int64_t heads,
                    const Tensor& rotary) {
  return turned(cx, normed_heads(cx, norm, x, heads), rotary);
}

Tensor attended_heads(Context& cx, const Tensor& query, const Tensor& key, const Tensor& value,
                      int64_t heads, const Tensor* bias) {
  double head_dim = static_cast<double>(query.size(2)) / static_cast<double>(heads);
  return cx.ops().attention(cx, {.x = query,
                                 .key = key,
                                 .value = value,
                                 .heads = heads,
                                 .scale = 1.0 / std::sqrt(head_dim),
                                 .bias = bias});
}

JointAttention::JointAttention(Module* parent, const std::string& name,
                               const JointAttentionOptions& options)
    : Module(parent, name),
      to_q(this, "to_q", options.heads * options.head_dim, options.heads * options.head_dim,
           options.bias),
      to_k(this, "to_k", to_q.in(), to_q.out(), options.bias),
      to_v(this, "to_v", to_q.in(), to_q.out(), options.bias),
      norm_q(this, "norm_q", options.head_dim, options.eps),
      norm_k(this, "norm_k", options.head_dim, options.eps),
      to_out(this, "to_out"),
      norm_added_q(this, "norm_added_q", options.head_dim, options.eps),
      norm_added_k(this, "norm_added_k", options.head_dim, options.eps),
      add_q_proj(this, "add_q_proj", to_q.in(), to_q.out(), options.bias),
      add_k_proj(this, "add_k_proj", to_q.in(), to_q.out(), options.bias),
      add_v_proj(this, "add_v_proj", to_q.in(), to_q.out(), options.bias),
      to_add_out(this, "to_add_out", to_q.in(), to_q.out(), options.bias),
      heads_(options.heads) {
  to_out.add(to_q.in(), to_q.out(), options.bias);
}

JointlyAttended JointAttention::forward(Context& cx, const TokenStream& x, const Tensor& rotary,
                                        const Tensor* bias, const PromptingImages& images,
                                        const KeysAndValues& before) const {
  std::vector<Tensor> made = cx.predicted_attention(path(), [&] {
    JointlyAttended y = computed(cx, x, rotary, bias, images, before);
    std::vector<Tensor> all{y.text, y.image};
    if (y.prompted.defined()) all.push_back(y.prompted);
    return all;
  });
  return {{.text = made[0], .image = made[1]}, made.size() > 2 ? made[2] : Tensor()};
}

Tensor JointAttention::of_image_alone(Context& cx, const Tensor& x, const Tensor& rotary,
                                      KeysAndValues& made, bool keys_alone) const {
  made = {turned_heads(cx, norm_k, to_k.forward(cx, x), heads_, rotary), to_v.forward(cx, x)};
  if (keys_alone) return {};
  Tensor query = turned_heads(cx, norm_q, to_q.forward(cx, x), heads_, rotary);
  return to_out[0].forward(cx, attended_heads(cx, query, made.key, made.value, heads_));
}

// The query is not turned: what is attended to has no places.
Tensor JointAttention::prompted(Context& cx, const Tensor& query,
                                const PromptingImages& images) const {
  Tensor sum;
  for (size_t i = 0; i < images.keys.size(); ++i) {
    Tensor key = in_form(cx, images.keys[i]), value = in_form(cx, images.values[i]);
    Tensor y = attended_heads(cx, query, key, value, heads_);
    sum = sum.defined() ? cx.ops().add(cx, {sum, y}) : y;
  }
  return sum;
}

JointlyAttended JointAttention::computed(Context& cx, const TokenStream& x, const Tensor& rotary,
                                         const Tensor* bias, const PromptingImages& images,
                                         const KeysAndValues& before) const {
  auto joined = [&](const Tensor& text, const Tensor& image) {
    return cx.ops().concat(cx, {text, image});
  };
  Tensor asking = normed_heads(cx, norm_q, to_q.forward(cx, x.image), heads_);
  Tensor query =
      joined(normed_heads(cx, norm_added_q, add_q_proj.forward(cx, x.text), heads_), asking);
  query = turned(cx, query, rotary);
  Tensor of_prompts = prompted(cx, asking.flatten(2), images);
  asking.reset();
  Tensor key = joined(normed_heads(cx, norm_added_k, add_k_proj.forward(cx, x.text), heads_),
                      normed_heads(cx, norm_k, to_k.forward(cx, x.image), heads_));
  key = turned(cx, key, rotary);
  Tensor value = joined(add_v_proj.forward(cx, x.text), to_v.forward(cx, x.image));
  if (before.key.defined()) {
    KeysAndValues all = preceded_by(cx, {key, value}, before);
    key = std::move(all.key);
    value = std::move(all.value);
  }
  Tensor y = attended_heads(cx, query, key, value, heads_, bias);
  int64_t texts = x.text.size(1);
  Tensor text = y.narrow(1, 0, texts), image = y.narrow(1, texts, y.size(1) - texts);
  return {{.text = to_add_out.forward(cx, text), .image = to_out[0].forward(cx, image)},
          of_prompts};
}

}  // namespace omnirt::nn
