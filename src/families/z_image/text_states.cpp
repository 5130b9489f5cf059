#include "families/z_image/text_states.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace omnirt::z_image {
namespace {

// Of the longest text, as far as it is not cut.
int64_t most_tokens(const std::vector<std::string>& texts, const blocks::Encode& encode) {
  int64_t most = 1;
  for (const std::string& text : texts) most = std::max<int64_t>(most, encode(text, "prompt").used);
  return most;
}

// Wherever a row's padding was.
TextStates tokens_in_front(const Tensor& states, const Tensor& mask) {
  TextStates made{at::zeros(states.sizes(), at::kFloat), at::zeros(mask.sizes(), at::kFloat)};
  for (int64_t row = 0; row < states.size(0); ++row) {
    Tensor kept = states[row].index_select(0, mask[row].nonzero().squeeze(1));
    made.embeds[row].narrow(0, 0, kept.size(0)).copy_(kept);
    made.mask[row].narrow(0, 0, kept.size(0)).fill_(1);
  }
  return made;
}

}  // namespace

TextStates read_texts(Frame& frame, const Component<Qwen3ForCausalLM>& text_encoder,
                      const std::vector<std::string>& texts, int64_t most, const EncodeTo& encode) {
  // What follows a token does not change it, so that no padding beyond the longest is needed.
  const int64_t longest = most_tokens(texts, encode(most));
  auto tokens = blocks::masked_tokens(texts, longest, encode(longest));
  Tensor states = host(frame.call(
      text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
      [](const Qwen3ForCausalLM& encoder, Context& cx, const Values& in) -> Values {
        int64_t chosen = encoder.num_hidden_layers() - 1;
        return result(encoder.hidden_states(cx, one(in, "ids"), &one(in, "mask"), {chosen})[0]);
      },
      "last layer but one"));
  return tokens_in_front(states.to(at::kFloat), tokens.mask);
}

TextStates per_image(const TextStates& texts, int64_t images) {
  const int64_t each = images / texts.embeds.size(0);
  return {texts.embeds.repeat_interleave(each, 0), texts.mask.repeat_interleave(each, 0)};
}

}  // namespace omnirt::z_image
