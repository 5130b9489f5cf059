#include "nn/blocks/sd3_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr double sd3_eps = SD3Transformer2DConfig::eps;

// Parts of a block that are modulated: attention, perceptron, and a dual block's other attention.
int64_t sd3_parts(const SD3Transformer2DConfig& config, int64_t layer) {
  return config.is_dual(layer) ? 3 : 2;
}

int64_t sd3_mlp_dim(const SD3Transformer2DConfig& config) {
  return SD3Transformer2DConfig::mlp_ratio * config.inner_dim();
}

// x {B, T, heads * d}, normalised over each head where there is a norm.
Tensor normed_by_heads(Context& cx, const std::optional<RmsNorm>& norm, const Tensor& x,
                       int64_t heads) {
  if (!norm) return x;
  return norm->forward(cx, x.view({x.size(0), x.size(1), heads, x.size(2) / heads})).flatten(2);
}

// What adds nothing to a residual.
Tensor nothing_of(Context& cx, const Tensor& x) {
  return cx.ops().affine(cx, {x, 0.0, 0.0});
}

SD3Attention::Over attends_over(const SD3Transformer2DConfig& config, int64_t layer) {
  return config.is_last(layer) ? SD3Attention::Over::both_for_image : SD3Attention::Over::both;
}

}  // namespace

SD3PatchEmbed::SD3PatchEmbed(Module* parent, const std::string& name,
                             const SD3Transformer2DConfig& config, bool positions)
    : Module(parent, name),
      pos_embed(
          param("pos_embed",
                {1, config.pos_embed_max_size * config.pos_embed_max_size, config.inner_dim()},
                positions)),
      proj(this, "proj", config.in_channels, config.inner_dim(),
           {.kernel = config.patch_size, .stride = config.patch_size, .padding = {0, 0, 0, 0}}),
      max_size_(config.pos_embed_max_size) {
  own(pos_embed);
}

// {1, height * width, D}: only what is taken of the table is converted.
Tensor SD3PatchEmbed::cropped(Context& cx, int64_t height, int64_t width) const {
  ensure(height <= max_size_ && width <= max_size_, "{}x{} tokens, of a table of {} squared", width,
         height, max_size_);
  Tensor table = cx[pos_embed];
  Tensor middle = table.view({1, max_size_, max_size_, table.size(2)})
                      .narrow(1, (max_size_ - height) / 2, height)
                      .narrow(2, (max_size_ - width) / 2, width);
  return in_form(cx, middle.reshape({1, height * width, table.size(2)}));
}

Tensor SD3PatchEmbed::forward(Context& cx, const Tensor& latents, const Tensor& run_value) const {
  Tensor patches = proj.forward(cx, latents);
  int64_t height = patches.size(2), width = patches.size(3);
  if (!pos_embed) return tokens_of(patches);
  Tensor positions = cx.once(fmt::format("{} {}x{}", path(), width, height), run_value,
                             [&] { return cropped(cx, height, width); });
  Tensor tokens = tokens_of(patches);
  return cx.ops().add(cx, {tokens, positions});
}

SD3Attention::SD3Attention(Module* parent, const std::string& name,
                           const SD3Transformer2DConfig& config, Over over)
    : Module(parent, name),
      to_q(this, "to_q", config.inner_dim(), config.inner_dim()),
      to_k(this, "to_k", config.inner_dim(), config.inner_dim()),
      to_v(this, "to_v", config.inner_dim(), config.inner_dim()),
      to_out(this, "to_out"),
      heads_(config.num_attention_heads) {
  const int64_t dim = config.inner_dim(), head = config.attention_head_dim;
  to_out.add(dim, dim);
  if (config.qk_norm) {
    norm_q.emplace(this, "norm_q", head, sd3_eps);
    norm_k.emplace(this, "norm_k", head, sd3_eps);
  }
  if (over == Over::image) return;
  add_k_proj.emplace(this, "add_k_proj", dim, dim);
  add_v_proj.emplace(this, "add_v_proj", dim, dim);
  add_q_proj.emplace(this, "add_q_proj", dim, dim);
  if (over == Over::both) to_add_out.emplace(this, "to_add_out", dim, dim);
  if (config.qk_norm) {
    norm_added_q.emplace(this, "norm_added_q", head, sd3_eps);
    norm_added_k.emplace(this, "norm_added_k", head, sd3_eps);
  }
}

Tensor SD3Attention::smoothed(Context& cx, const Tensor& query, const SD3Grid& grid) const {
  const SiteChange* change = cx.site(path());
  if (!change || change->what != SiteChange::What::blurred_queries) return query;
  return cx.ops().blur_tokens(
      cx, {query, grid[0], grid[1], change->sigma, change->sigma >= infinite_blur});
}

Tensor SD3Attention::forward(Context& cx, const Tensor& x, const SD3Grid& grid) const {
  const SiteChange* change = cx.site(path());
  if (change && change->what == SiteChange::What::skip) return nothing_of(cx, x);
  Tensor value = to_v.forward(cx, x);
  if (change && change->what == SiteChange::What::identity_attention)
    return to_out[0].forward(cx, value);
  Tensor query = smoothed(cx, normed_by_heads(cx, norm_q, to_q.forward(cx, x), heads_), grid);
  Tensor key = normed_by_heads(cx, norm_k, to_k.forward(cx, x), heads_);
  return to_out[0].forward(cx, attended_heads(cx, query, key, value, heads_));
}

TokenStream SD3Attention::forward(Context& cx, const TokenStream& x, const SD3Grid& grid) const {
  auto made = cx.predicted_attention(path(), [&] {
    const TokenStream y = computed(cx, x, grid);
    return y.text.defined() ? std::vector<Tensor>{y.image, y.text} : std::vector<Tensor>{y.image};
  });
  return {.text = made.size() > 1 ? made[1] : Tensor(), .image = made[0]};
}

SD3Attention::Parts SD3Attention::parts(Context& cx, const TokenStream& x,
                                        const SD3Grid& grid) const {
  auto both = [&](const Linear& of_image, const std::optional<RmsNorm>& image_norm,
                  const Linear& of_text, const std::optional<RmsNorm>& text_norm) {
    return TokenStream{
        .text = normed_by_heads(cx, text_norm, of_text.forward(cx, x.text), heads_),
        .image = normed_by_heads(cx, image_norm, of_image.forward(cx, x.image), heads_)};
  };
  Parts made{both(to_q, norm_q, *add_q_proj, norm_added_q),
             both(to_k, norm_k, *add_k_proj, norm_added_k),
             both(to_v, std::nullopt, *add_v_proj, std::nullopt)};
  made.query.image = smoothed(cx, made.query.image, grid);
  return made;
}

Tensor SD3Attention::attended(Context& cx, const Parts& of) const {
  auto joined = [&](const TokenStream& x) { return cx.ops().concat(cx, {x.image, x.text}); };
  const Tensor query = joined(of.query), key = joined(of.key), value = joined(of.value);
  return attended_heads(cx, query, key, value, heads_);
}

// In groups of tokens, each of which has its own keys: as many more as there are texts.
Tensor SD3Attention::attended_apart(Context& cx, const Parts& of) const {
  constexpr int64_t at_once = 64;
  const int64_t rows = of.query.image.size(0), tokens = of.query.image.size(1);
  Tensor all;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t from = 0; from < tokens; from += at_once) {
      const int64_t count = std::min(at_once, tokens - from);
      auto own = [&](const Tensor& x) {
        return x.narrow(0, row, 1).narrow(1, from, count).transpose(0, 1);
      };
      auto with_text = [&](const TokenStream& x) {
        Tensor text = x.text.narrow(0, row, 1).expand({count, x.text.size(1), x.text.size(2)});
        return cx.ops().concat(cx, {own(x.image), text});
      };
      const Tensor key = with_text(of.key), value = with_text(of.value);
      Tensor y = attended_heads(cx, own(of.query.image), key, value, heads_).transpose(0, 1);
      all = all.defined() ? cx.ops().concat(cx, {all, y}) : y;
    }
  }
  all = all.view({rows, tokens, all.size(2)});
  auto joined = [&](const TokenStream& x) { return cx.ops().concat(cx, {x.image, x.text}); };
  const Tensor key = joined(of.key), value = joined(of.value);
  Tensor text = attended_heads(cx, of.query.text, key, value, heads_);
  return cx.ops().concat(cx, {all, text});
}

TokenStream SD3Attention::computed(Context& cx, const TokenStream& x, const SD3Grid& grid) const {
  const SiteChange* change = cx.site(path());
  if (change && change->what == SiteChange::What::skip) {
    return {.text = to_add_out ? nothing_of(cx, x.text) : Tensor(),
            .image = nothing_of(cx, x.image)};
  }
  const bool apart = change && change->what == SiteChange::What::identity_attention;
  const Parts of = parts(cx, x, grid);
  Tensor y = apart ? attended_apart(cx, of) : attended(cx, of);
  int64_t places = x.image.size(1);
  TokenStream made{.text = {}, .image = to_out[0].forward(cx, y.narrow(1, 0, places))};
  if (to_add_out) made.text = to_add_out->forward(cx, y.narrow(1, places, y.size(1) - places));
  return made;
}

SD3TransformerBlock::SD3TransformerBlock(Module* parent, const std::string& name,
                                         const SD3Transformer2DConfig& config, int64_t layer)
    : Module(parent, name),
      norm1(this, "norm1", config.inner_dim(), sd3_parts(config, layer), sd3_eps),
      attn(this, "attn", config, attends_over(config, layer)),
      norm2(this, "norm2", config.inner_dim(), sd3_eps, /*affine=*/false),
      ff(this, "ff", config.inner_dim(), sd3_mlp_dim(config)) {
  const int64_t dim = config.inner_dim();
  if (config.is_dual(layer)) attn2.emplace(this, "attn2", config, SD3Attention::Over::image);
  if (config.is_last(layer)) {
    last_norm1_context.emplace(this, "norm1_context", dim, sd3_eps);
    return;
  }
  norm1_context.emplace(this, "norm1_context", dim, 2, sd3_eps);
  norm2_context.emplace(this, "norm2_context", dim, sd3_eps, /*affine=*/false);
  ff_context.emplace(this, "ff_context", dim, sd3_mlp_dim(config));
}

Tensor SD3TransformerBlock::image_after(Context& cx, const Tensor& image, const Tensor& normed,
                                        const Tensor& attended, const std::vector<Modulation>& by,
                                        const SD3Grid& grid) const {
  Tensor h = cx.ops().gate(cx, {attended, by[0].gate, &image});
  if (attn2) {
    Tensor second =
        attn2->forward(cx, cx.ops().modulate(cx, {normed, by[2].scale, by[2].shift}), grid);
    h = cx.ops().gate(cx, {second, by[2].gate, &h});
  }
  return through_perceptron(cx, norm2, ff, h, by[1]);
}

TokenStream SD3TransformerBlock::forward(Context& cx, const TokenStream& x, const Tensor& activated,
                                         const SD3Grid& grid) const {
  auto image = norm1.modulations(cx, activated);
  Tensor normed = norm1.norm.forward(cx, x.image);
  TokenStream in{.text = {},
                 .image = cx.ops().modulate(cx, {normed, image[0].scale, image[0].shift})};
  if (last_norm1_context) {
    in.text = last_norm1_context->forward(cx, x.text, activated);
    Tensor attended = attn.forward(cx, in, grid).image;
    return {.text = x.text, .image = image_after(cx, x.image, normed, attended, image, grid)};
  }
  auto text = norm1_context->modulations(cx, activated);
  in.text = modulated_by(cx, norm1_context->norm, x.text, text[0]);
  TokenStream attended = attn.forward(cx, in, grid);
  Tensor told = cx.ops().gate(cx, {attended.text, text[0].gate, &x.text});
  return {.text = through_perceptron(cx, *norm2_context, *ff_context, told, text[1]),
          .image = image_after(cx, x.image, normed, attended.image, image, grid)};
}

SD3SingleTransformerBlock::SD3SingleTransformerBlock(Module* parent, const std::string& name,
                                                     const SD3Transformer2DConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.inner_dim(), 2, sd3_eps),
      attn(this, "attn", config, SD3Attention::Over::image),
      norm2(this, "norm2", config.inner_dim(), sd3_eps, /*affine=*/false),
      ff(this, "ff", config.inner_dim(), sd3_mlp_dim(config)) {}

Tensor SD3SingleTransformerBlock::forward(Context& cx, const Tensor& x,
                                          const Tensor& activated) const {
  auto by = norm1.modulations(cx, activated);
  Tensor attended = attn.forward(cx, modulated_by(cx, norm1.norm, x, by[0]), SD3Grid{});
  Tensor h = cx.ops().gate(cx, {attended, by[0].gate, &x});
  return through_perceptron(cx, norm2, ff, h, by[1]);
}

}  // namespace omnirt::nn
