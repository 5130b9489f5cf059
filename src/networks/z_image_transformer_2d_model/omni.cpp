// Omni's calls (diffusers transformer_z_image.py, patchify_and_embed_omni): a text, the image
// behind it and what SigLIP2 sees of that, and so on; the last image is the one that is made.
// Attention sees all tokens alike, so that they are in another order here: first those at the
// timestep, of which the image that is made is the first, and then those of images to go by.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "networks/z_image_transformer_2d_model/model.hpp"
#include "networks/z_image_transformer_2d_model/positions.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

// The image that is made has as many tokens of SigLIP2 as an empty list is filled up to.
constexpr int64_t siglip_of_sample = 32;

// The texts of a call in their order: the prompt is the one before the image that is made.
std::vector<Tensor> captions_of(const ZImageInput& input) {
  std::vector<Tensor> all;
  if (input.omni) all = input.omni->captions;
  all.insert(all.empty() ? all.end() : all.end() - 1, input.encoder_hidden_states);
  return all;
}

size_t references_of(const ZImageInput& input) {
  return input.omni ? input.omni->reference_latents.size() : 0;
}

struct TextSpan {
  int64_t first = 0, tokens = 0;
  // Where the image behind it is.
  double place() const { return static_cast<double>(first + tokens); }
};

// The texts' places: each is followed by one of an image, and one of what SigLIP2 sees of it.
std::vector<TextSpan> text_spans(const ZImageInput& input) {
  std::vector<TextSpan> spans;
  int64_t at = 1;
  for (const Tensor& text : captions_of(input)) {
    spans.push_back({at, text.size(1)});
    at += text.size(1) + 2;
  }
  return spans;
}

// How many tokens the texts before images to go by have, filled up.
int64_t tokens_before_references(const ZImageInput& input) {
  int64_t sum = 0;
  const std::vector<TextSpan> spans = text_spans(input);
  for (size_t i = 0; i < references_of(input); ++i)
    sum += ZImageTransformer2DModel::padded(spans[i].tokens);
  return sum;
}

Tensor each_behind(Context& cx, const std::vector<Tensor>& positions) {
  return std::accumulate(
      positions.begin() + 1, positions.end(), positions.front(),
      [&](const Tensor& all, const Tensor& next) { return z_image_behind(cx, all, next); });
}

Tensor tokens_joined(Context& cx, const std::vector<Tensor>& tokens) {
  return std::accumulate(tokens.begin() + 1, tokens.end(), tokens.front(),
                         [&](const Tensor& all, const Tensor& next) {
                           return cx.ops().concat(cx, {all, next});
                         });
}

}  // namespace

// The reference counts on through what fills a text up, and then writes as many positions of
// padding again, so that those of the texts behind it are so much later; the last ones are cut.
Tensor ZImageTransformer2DModel::caption_positions(Context& cx, const ZImageInput& input) const {
  const Tensor& like = input.encoder_hidden_states;
  std::vector<Tensor> parts;
  int64_t tokens = 0;
  for (const TextSpan& span : text_spans(input)) {
    const int64_t filled = padded(span.tokens);
    parts.push_back(text_positions(cx, like, filled, static_cast<double>(span.first)));
    if (filled > span.tokens) parts.push_back(padding_positions(cx, like, filled - span.tokens));
    tokens += filled;
  }
  return each_behind(cx, parts).narrow(0, 0, tokens);
}

Tensor ZImageTransformer2DModel::siglip_positions(Context& cx, const ZImageInput& input) const {
  const Tensor& like = input.encoder_hidden_states;
  const std::vector<TextSpan> spans = text_spans(input);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < references_of(input); ++i) {
    const Tensor places = input.omni->siglip_places[i].select(0, 0);
    Tensor none = cx.ops().affine(cx, {places.narrow(1, 0, 1), 0.0, 0.0});
    parts.push_back(z_image_with_first_axis(cx, none, spans[i].place() + 1, places));
    const int64_t tokens = places.size(0), filled = padded(tokens);
    if (filled > tokens) parts.push_back(padding_positions(cx, like, filled - tokens));
  }
  parts.push_back(padding_positions(cx, like, siglip_of_sample));
  return each_behind(cx, parts);
}

// Once per run, text and size.
ZImageTransformer2DModel::OmniPlaces ZImageTransformer2DModel::omni_places(
    Context& cx, const ZImageInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  const size_t references = references_of(input);
  auto once = [&](const char* what, auto&& positions) {
    return cx.once(
        fmt::format("rotary of {} {}x{}", what, input.sample.size(2), input.sample.size(3)), text,
        [&] { return nn::rope_table(cx, positions(), config_.axes_dims, config_.rope_theta); });
  };
  const std::vector<TextSpan> spans = text_spans(input);
  auto sample = [&] { return image_positions(cx, text, input.sample, spans[references].place()); };
  auto images = [&] {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < references; ++i)
      parts.push_back(
          image_positions(cx, text, input.omni->reference_latents[i], spans[i].place()));
    return each_behind(cx, parts);
  };
  auto all = [&] {
    const Tensor captions = caption_positions(cx, input);
    const int64_t clean = tokens_before_references(input), texts = captions.size(0) - clean;
    std::vector<Tensor> parts{sample(), captions.narrow(0, clean, texts)};
    if (references > 0) {
      const Tensor siglip = siglip_positions(cx, input);
      const int64_t seen = siglip.size(0) - siglip_of_sample;
      for (const Tensor& part : {siglip.narrow(0, seen, siglip_of_sample), images(),
                                 captions.narrow(0, 0, clean), siglip.narrow(0, 0, seen)})
        parts.push_back(part);
    }
    return each_behind(cx, parts);
  };
  OmniPlaces at{.captions = once("captions", [&] { return caption_positions(cx, input); }),
                .all = once("all", all)};
  at.images = once("images", [&] {
    return references == 0 ? sample() : z_image_behind(cx, sample(), images());
  });
  if (references > 0) at.siglip = once("siglip", [&] { return siglip_positions(cx, input); });
  return at;
}

// No step changes them.
Tensor ZImageTransformer2DModel::refined_captions(Context& cx, const ZImageInput& input,
                                                  const Tensor& rotary) const {
  return cx.once("context_refiner", input.encoder_hidden_states, [&] {
    std::vector<Tensor> parts;
    for (const Tensor& text : captions_of(input))
      parts.push_back(
          filled_up(cx, cap_embedder.forward(cx, nn::in_form(cx, text)), cap_pad_token));
    Tensor h = tokens_joined(cx, parts);
    return nn::run_list(cx, context_refiner, h, rotary, Tensor());
  });
}

Tensor ZImageTransformer2DModel::refined_siglip(Context& cx, const ZImageInput& input,
                                                const Tensor& rotary) const {
  return cx.once("siglip_refiner", input.omni->siglip_features.front(), [&] {
    std::vector<Tensor> parts;
    for (const Tensor& seen : input.omni->siglip_features)
      parts.push_back(
          filled_up(cx, siglip_embedder->forward(cx, nn::in_form(cx, seen)), siglip_pad_token));
    parts.push_back(
        cx[siglip_pad_token].expand({input.sample.size(0), siglip_of_sample, config_.dim}));
    Tensor h = tokens_joined(cx, parts);
    return nn::run_list(cx, siglip_refiner, h, rotary, Tensor());
  });
}

std::vector<nn::ZImagePart> ZImageTransformer2DModel::omni_parts(Context& cx,
                                                                 const ZImageInput& input,
                                                                 const OmniPlaces& at) const {
  std::vector<nn::ZImagePart> parts{{embedded_image(cx, input), embedded_time(cx, input)}};
  if (references_of(input) > 0) {
    std::vector<Tensor> images;
    for (const Tensor& latents : input.omni->reference_latents)
      images.push_back(
          cx.once(all_x_embedder.path(), latents, [&] { return embedded_latents(cx, latents); }));
    Tensor time = input.timestep.to(at::kFloat).expand({input.sample.size(0)}).contiguous();
    Tensor without_noise = cx.ops().affine(cx, {time, 0.0, config_.t_scale});
    parts.push_back({tokens_joined(cx, images), t_embedder.forward(cx, without_noise)});
  }
  parts = nn::run_blocks(cx, noise_refiner, std::move(parts),
                         [&](size_t i, std::vector<nn::ZImagePart> x) {
                           noise_refiner[i].forward(cx, x, at.images);
                           return x;
                         });
  const Tensor texts = refined_captions(cx, input, at.captions);
  const int64_t clean = tokens_before_references(input);
  auto add = [&](nn::ZImagePart& part, const Tensor& of, int64_t first, int64_t tokens) {
    part.tokens = cx.ops().concat(cx, {part.tokens, of.narrow(1, first, tokens)});
  };
  add(parts[0], texts, clean, texts.size(1) - clean);
  if (parts.size() == 1) return parts;
  const Tensor siglip = refined_siglip(cx, input, at.siglip);
  const int64_t seen = siglip.size(1) - siglip_of_sample;
  add(parts[0], siglip, seen, siglip_of_sample);
  add(parts[1], texts, 0, clean);
  add(parts[1], siglip, 0, seen);
  return parts;
}

// The tokens that are at the timestep come first.
auto ZImageTransformer2DModel::omni_entered(Context& cx, const ZImageInput& input) const -> Trunk {
  const OmniPlaces at = omni_places(cx, input);
  std::vector<nn::ZImagePart> parts = omni_parts(cx, input, at);
  const int64_t height = input.sample.size(2) / patch_size(),
                width = input.sample.size(3) / patch_size();
  ZImageCall call{parts[0].embedded, {}, at.all, height, width};
  nn::TokenStream tokens{.image = parts[0].tokens};
  if (parts.size() > 1) {
    call.references_embedded = parts[1].embedded;
    tokens.references = parts[1].tokens;
  }
  const int64_t all = at.all.size(1);
  return {.tokens = std::move(tokens),
          .axis = {{0, height * width}, {0, all}},
          .call = std::move(call)};
}

}  // namespace omnirt
