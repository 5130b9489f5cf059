#include "families/qwen_image_edit/look.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/image_words.hpp"
#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"
#include "blocks/vision_patches.hpp"
#include "families/qwen_image_edit/sizes.hpp"
#include "io/image_resize.hpp"

namespace omnirt::qwen_image_edit {
namespace {

constexpr const char* before_edit =
    "<|im_start|>system\nDescribe the key features of the input image (color, shape, size, "
    "texture, objects, background), then explain how the user's text instruction should alter or "
    "modify the image. Generate a new image that meets the user's requirements while maintaining "
    "consistency with the original input where appropriate.<|im_end|>\n<|im_start|>user\n";
constexpr const char* image_words = "<|vision_start|><|image_pad|><|vision_end|>";
// The model's own word, in two parts for scripts/check_words.py, since this project writes "image".
constexpr const char* image_name =
    "Pic"
    "ture";
constexpr const char* after_edit = "<|im_end|>\n<|im_start|>assistant\n";
// The first tokens of that, whose states are dropped (reference:
// prompt_template_encode_start_idx).
constexpr int64_t dropped_edit_tokens = 64;

std::string edit_words(const EditTemplate& form, int64_t images, const std::string& text) {
  std::string words = before_edit;
  for (int64_t i = 1; i <= images; ++i)
    words += (form.numbered ? fmt::format("{} {}: ", image_name, i) : "") + image_words;
  return words + text + after_edit;
}

}  // namespace

void LookAtImages::check_loaded(Checks& checks) const {
  const Qwen25VLVisionConfig* vision = checks[text_encoder].vision();
  if (!vision) return;  // it was refused
  const blocks::Qwen2VLImageProcessor& given = checks[processor];
  if (given.patch_size == vision->patch_size && given.merge_size == vision->spatial_merge_size)
    return;
  checks.error(
      {"processor.patch_size", std::to_string(given.patch_size),
       fmt::format("the vision tower takes patches of {} pixels, {}x{} a token", vision->patch_size,
                   vision->spatial_merge_size, vision->spatial_merge_size),
       "use the processor of the same model"});
}

io::Image LookAtImages::seen(Frame& /*frame*/, const io::Image& given) const {
  const Size size = size_of_area(pixels_, given.height, given.width);
  return io::resize_lanczos(given, size.width, size.height);
}

void LookAtImages::run(Frame& frame) const {
  std::vector<io::Image> images{frame[image]};
  if (const auto* more = frame[further]) images.insert(images.end(), more->begin(), more->end());
  const Qwen25VLVisionConfig& vision = *frame[text_encoder].vision();
  std::vector<Tensor> all;
  std::vector<int64_t> each;
  for (const io::Image& given : images) {
    const Tensor pixels = frame[processor].pixel_values(seen(frame, io::to_rgb(given)));
    const blocks::VisionInput input = blocks::vision_input(vision, pixels);
    all.push_back(host(frame.call(
        text_encoder, {{"patches", {input.patches}}, {"positions", {input.positions}}},
        [&input](const Qwen25VLForConditionalGeneration& encoder, Context& cx, const Values& in) {
          return encoder.image_tokens(cx, one(in, "patches"), one(in, "positions"), input.windows);
        },
        fmt::format("look {}x{}", pixels.size(2), pixels.size(3)))));
    each.push_back(all.back().size(1));
  }
  frame[tokens] = at::cat(all, 1);
  frame[counts] = at::tensor(each, at::kLong);
}

void EncodeEdit::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
}

void EncodeEdit::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  const std::vector<int64_t> ids = qwen.encode_words(image_words);
  if (std::ranges::count(ids, checks[text_encoder].image_token_id()) == 1) return;
  checks.error({"tokenizer", "<|image_pad|>",
                fmt::format("is not the token {} by which the text encoder knows images",
                            checks[text_encoder].image_token_id()),
                "use the tokenizer of the same model"});
}

Tensor EncodeEdit::states(Frame& frame, const std::string& text) const {
  const Tensor& given = frame[counts];
  const std::vector<int64_t> words =
      frame[tokenizer].encode_words(edit_words(form_, given.numel(), text), "prompt");
  const blocks::IdsWithImages placed =
      blocks::with_images(words, frame[text_encoder].image_token_id(), given);
  const std::vector<nn::ImageSpan>& spans = placed.spans;
  Tensor all = host(frame.call(
      text_encoder,
      {{"ids", {at::tensor(placed.ids, at::kLong).unsqueeze(0)}}, {"images", {frame[tokens]}}},
      [&spans](const Qwen25VLForConditionalGeneration& encoder, Context& cx, const Values& in) {
        return encoder.last_state(cx, one(in, "ids"), one(in, "images"), spans);
      },
      placed.key()));
  return all.narrow(1, dropped_edit_tokens, all.size(1) - dropped_edit_tokens);
}

void EncodeEdit::run(Frame& frame) const {
  const blocks::PaddedEmbeds padded =
      blocks::padded_embeds(frame[prompt], frame[seeds].size(),
                            [&](const std::string& text) { return states(frame, text); });
  frame[prompt_embeds] = padded.embeds;
  if (padded.mask.defined()) frame[embeds_mask] = padded.mask;
}

}  // namespace omnirt::qwen_image_edit
