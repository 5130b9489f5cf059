#include "families/qwen_image/entities.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <limits>

#include "base/path_text.hpp"
#include "io/image_resize.hpp"
#include "nn/patches.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::qwen_image {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

// The scores of attention among texts and then an image, {N, N}: a text looks at itself; it and
// the image's tokens in its mask, a row of `masks` {texts, L}, look at each other.
Tensor scores_of(const std::vector<int64_t>& lengths, const Tensor& masks) {
  int64_t texts = 0;
  for (int64_t length : lengths) texts += length;
  const int64_t image = masks.size(1);
  Tensor scores = at::full({texts + image, texts + image}, never, at::kFloat);
  scores.narrow(0, texts, image).narrow(1, texts, image).fill_(0);
  const Tensor hidden = masks == 0;
  int64_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = lengths[i];
    const Tensor row =
        at::full({image}, 0.0, at::kFloat).masked_fill_(hidden[static_cast<int64_t>(i)], never);
    scores.narrow(0, start, length).narrow(1, start, length).fill_(0);
    scores.narrow(0, start, length).narrow(1, texts, image).copy_(row.unsqueeze(0));
    scores.narrow(0, texts, image).narrow(1, start, length).copy_(row.unsqueeze(1));
    start += length;
  }
  return scores;
}

}  // namespace

PlaceEntities::PlaceEntities()
    : Block("place_entities", Stage::prepare_conditions, Guidance::per_condition,
            blocks::has_entities()) {}

void PlaceEntities::check(Checks& checks) const {
  blocks::add_entity_conditions(checks, entity_prompts, entity_masks);
  blocks::check_on_negative(checks, on_negative);
  auto refuse = [&](const std::string& field, const std::string& value) {
    checks.error({field, value, "entities do not go with control images",
                  "remove it, or entity_prompts and entity_masks"});
  };
  if (const ComponentFolder* folder = checks.folder(controlnet))
    refuse("components.controlnet", path_text(folder->folder));
  if (const ImageInput* given = checks.image(context_image))
    refuse("inputs.context_image", path_text(given->path));
}

Tensor PlaceEntities::token_masks(Frame& frame) const {
  const auto grid = frame[vae].grid(frame[width], frame[height]);
  std::vector<Tensor> all;
  for (const io::Image& mask : frame[entity_masks]) {
    const io::Image small = io::resize_nearest(io::to_rgb(mask), grid.width, grid.height);
    const Tensor white =
        (image_to_tensor(small).mean(1, /*keepdim=*/true) > 0.5).to(at::kFloat);  // {1, 1, h, w}
    if (!white.any().item<bool>()) throw blocks::entity_is_nowhere(all.size());
    const int64_t side = nn::patch_side;
    all.push_back(at::max_pool2d(white, {side, side}, {side, side}).flatten());
  }
  return at::stack(all);
}

void PlaceEntities::run(Frame& frame) const {
  const bool negative = frame.renamed(prompt);
  if (negative && !frame[on_negative]) return;
  const Tensor masks = token_masks(frame);
  const Tensor& text = frame[prompt_embeds];
  std::vector<Tensor> texts;
  for (int64_t i = 0; i < masks.size(0); ++i) {
    // Of the negative prompt's prediction every text is that.
    texts.push_back(
        negative ? text
                 : frame.under(blocks::entity_condition(static_cast<size_t>(i)), prompt_embeds));
  }
  frame[entities] = at::cat(texts, 1);
  texts.push_back(text);
  std::vector<int64_t> lengths;
  std::vector<Tensor> places, unpadded;
  const Tensor* padding = frame[embeds_mask];
  for (size_t i = 0; i < texts.size(); ++i) {
    lengths.push_back(texts[i].size(1));
    places.push_back(at::arange(lengths.back(), at::kFloat));
    const bool padded = padding && (negative || i + 1 == texts.size());
    unpadded.push_back(padded ? *padding : at::ones({text.size(0), lengths.back()}, at::kFloat));
  }
  frame[ids] = at::cat(places).unsqueeze(0);
  const Tensor whole = at::ones({1, masks.size(1)}, at::kFloat);
  Tensor scores = scores_of(lengths, at::cat({masks, whole})).unsqueeze(0);
  if (padding) {
    unpadded.push_back(whole.expand({text.size(0), whole.size(1)}));
    scores = scores.masked_fill((at::cat(unpadded, 1) == 0).unsqueeze(1), never);
  }
  frame[bias] = scores;
}

}  // namespace omnirt::qwen_image
