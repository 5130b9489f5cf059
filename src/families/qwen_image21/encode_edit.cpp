#include "families/qwen_image21/encode_edit.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "blocks/image_words.hpp"
#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"
#include "blocks/qwen3_vl_positions.hpp"
#include "families/qwen_image21/words.hpp"

namespace omnirt::qwen_image21 {
namespace {

// Where each image is, and how many rows and columns of tokens it has.
std::vector<blocks::Qwen3VLImage> images_of(const std::vector<nn::ImageSpan>& spans,
                                            const Tensor& grids) {
  std::vector<blocks::Qwen3VLImage> images;
  for (const nn::ImageSpan& span : spans) {
    const Tensor grid = grids[static_cast<int64_t>(images.size())];
    images.push_back({span.first, grid[0].item<int64_t>(), grid[1].item<int64_t>()});
  }
  return images;
}

// {1, T, D} of what is between the images and behind them, from `first` on; and after how many of
// these tokens each image is.
Tensor text_alone(const Tensor& states, int64_t first, const std::vector<nn::ImageSpan>& spans,
                  std::vector<int64_t>& before) {
  std::vector<Tensor> parts;
  int64_t at = first, tokens = 0;
  auto add = [&](int64_t end) {
    parts.push_back(states.narrow(1, at, end - at));
    tokens += end - at;
  };
  before.clear();
  for (const nn::ImageSpan& span : spans) {
    add(span.first);
    before.push_back(tokens);
    at = span.first + span.tokens;
  }
  add(states.size(1));
  return at::cat(parts, 1);
}

}  // namespace

void EncodeEdit::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
}

void EncodeEdit::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[processor];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  check_lengths(checks, qwen, checks.all_texts(prompt));
  if (qwen.encode_words(image_word) == std::vector<int64_t>{checks[text_encoder].image_token_id()})
    return;
  checks.error({"processor", image_word,
                fmt::format("is not the token {} by which the text encoder knows images",
                            checks[text_encoder].image_token_id()),
                "use the processor of the same model"});
}

Tensor EncodeEdit::states(Frame& frame, const std::string& text,
                          std::vector<int64_t>& before) const {
  const Tensor& sides = frame[grids];
  const std::vector<int64_t> words =
      instructed(frame[processor], text, static_cast<size_t>(sides.size(0)));
  const Qwen3VLForConditionalGeneration& network = frame[text_encoder];
  const blocks::IdsWithImages placed =
      blocks::with_images(words, network.image_token_id(), sides.prod(1));
  const Tensor angles = blocks::qwen3_vl_angles(
      network.text(), static_cast<int64_t>(placed.ids.size()), images_of(placed.spans, sides));
  const Tensor all = host(frame.call(
      text_encoder,
      {{"ids", {at::tensor(placed.ids, at::kLong).unsqueeze(0)}},
       {"images", {frame[tokens]}},
       {"angles", {angles}}},
      [&placed](const Qwen3VLForConditionalGeneration& encoder, Context& cx, const Values& in) {
        // What the tower's layers see is side by side.
        const std::vector<Tensor> tokens_of_layers =
            one(in, "images").split(encoder.hidden_size(), 2);
        const Qwen3VLSeen seen{tokens_of_layers, placed.spans};
        const Tensor turned = one(in, "angles");
        const nn::TextDecoderCall call{
            .chosen = {encoder.num_hidden_layers()}, .positions = &turned, .normed = false};
        return encoder.states(cx, one(in, "ids"), call, &seen).front();
      },
      placed.key()));
  return text_alone(all, ids_of_instruction(frame[processor]), placed.spans, before);
}

void EncodeEdit::run(Frame& frame) const {
  Sequence sequence;
  const blocks::PaddedEmbeds padded = blocks::padded_embeds(
      frame[prompt], frame[seeds].size(),
      [&](const std::string& text) { return states(frame, text, sequence.before); });
  frame[prompt_embeds] = padded.embeds;
  if (padded.mask.defined()) frame[embeds_mask] = padded.mask;
  const Tensor& sides = frame[grids];
  for (int64_t i = 0; i < sides.size(0); ++i) {
    // A token of the text encoder's is a square of 2x2 latents.
    sequence.images.push_back({2 * sides[i][0].item<int64_t>(), 2 * sides[i][1].item<int64_t>()});
  }
  const auto grid = frame[vae].grid(frame[width], frame[height]);
  sequence.text = padded.embeds.size(1);
  sequence.made = {grid.height, grid.width};
  const Places places = places_of(sequence, padded.mask);
  frame[ids] = places.prefix_ids;
  frame[mask] = places.prefix_mask;
  frame[of_sample] = places.sample_ids;
}

}  // namespace omnirt::qwen_image21
