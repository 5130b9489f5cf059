#include "blocks/prompt_tokens.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

#include "networks/clip_text_model/model.hpp"
#include "pipeline/keys.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {

Tensor token_ids(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts) {
  Tensor ids = at::empty({static_cast<int64_t>(prompts.size()), tokenizer.window()}, at::kLong);
  int64_t* out = ids.mutable_data_ptr<int64_t>();
  for (const std::string& prompt : prompts)
    out = std::ranges::copy(tokenizer.encode(prompt).ids, out).out;
  return ids;
}

void check_text_count(Proposal& proposal, const std::string& input) {
  auto texts = proposal.texts.find(input);
  size_t prompts = proposal.texts_of("prompt").size();
  if (texts == proposal.texts.end() || texts->second.size() == 1 || texts->second.size() == prompts)
    return;
  proposal.error({"inputs." + input, fmt::format("{} texts", texts->second.size()),
                  fmt::format("{} prompts were given", prompts),
                  "give one for all, or one per prompt"});
}

void check_clip_skip(Proposal& proposal, const std::string& text_encoder) {
  int64_t layers = proposal.network<CLIPTextModel>(text_encoder).num_layers();
  int64_t skip = proposal.config.get(keys::clip_skip);
  if (skip < layers) return;
  proposal.error({"config.clip_skip", std::to_string(skip),
                  fmt::format("the text encoder has {} layers", layers),
                  fmt::format("give 0 to {}", layers - 1)});
}

bool check_tokenizer(Proposal& proposal, const LoadedPipeline& pipeline,
                     const std::string& tokenizer, const std::string& text_encoder) {
  const auto& clip = pipeline.get<text::Tokenizer>(tokenizer);
  const auto& encoder = pipeline.get<CLIPTextModel>(text_encoder);
  if (clip.vocab_size() <= encoder.vocab_size() && clip.window() <= encoder.max_tokens())
    return true;
  proposal.error({"model." + tokenizer,
                  fmt::format("{} entries, window {}", clip.vocab_size(), clip.window()),
                  fmt::format("the text encoder has {} entries and a window of {}",
                              encoder.vocab_size(), encoder.max_tokens()),
                  "use the tokenizer of the same model"});
  return false;
}

void warn_of_cuts(Proposal& proposal, const text::Tokenizer& tokenizer,
                  const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    auto texts = proposal.texts.find(input);
    if (texts == proposal.texts.end()) continue;
    for (const std::string& text : texts->second) {
      text::TokenizedPrompt tokenized = tokenizer.encode(text, "inputs." + input);
      if (tokenized.cut.empty()) continue;
      proposal.warn({"inputs." + input, tokenized.cut,
                     fmt::format("the prompt is longer than the text encoder's {} tokens; this end "
                                 "was cut off",
                                 tokenizer.window()),
                     "shorten the prompt"});
    }
  }
}

}  // namespace omnirt::blocks
