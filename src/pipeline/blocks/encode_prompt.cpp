#include "pipeline/blocks/encode_prompt.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/proposal.hpp"

namespace omnirt::blocks {
namespace {

// {prompts, window} int64.
Tensor token_ids(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts) {
  Tensor ids = at::empty({static_cast<int64_t>(prompts.size()), tokenizer.window()}, at::kLong);
  int64_t* out = ids.mutable_data_ptr<int64_t>();
  for (const std::string& prompt : prompts)
    out = std::ranges::copy(tokenizer.encode(prompt).ids, out).out;
  return ids;
}

}  // namespace

void EncodePrompt::check(Proposal& proposal) const {
  auto negative = proposal.texts.find("negative_prompt");
  size_t prompts = proposal.texts["prompt"].size();
  if (negative != proposal.texts.end() && negative->second.size() != 1 &&
      negative->second.size() != prompts) {
    proposal.error({"inputs.negative_prompt", fmt::format("{} texts", negative->second.size()),
                    fmt::format("{} prompts were given", prompts),
                    "give one for all, or one a prompt"});
  }
  const Json& config = proposal.component_config("text_encoder");
  int64_t layers = config.value("num_hidden_layers", int64_t{12});
  int64_t skip = proposal.config.get(keys::clip_skip);
  if (skip >= layers) {
    proposal.error({"config.clip_skip", std::to_string(skip),
                    fmt::format("the text encoder has {} layers", layers),
                    fmt::format("give 0 to {}", layers - 1)});
  }
}

void EncodePrompt::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  const auto& clip = pipeline.get<text::Tokenizer>(tokenizer.name());
  const auto& encoder = pipeline.get<CLIPTextModel>(text_encoder.name());
  if (clip.vocab_size() > encoder.vocab_size() || clip.window() > encoder.max_tokens()) {
    proposal.error({"model.tokenizer",
                    fmt::format("{} entries, window {}", clip.vocab_size(), clip.window()),
                    fmt::format("the text encoder has {} entries and a window of {}",
                                encoder.vocab_size(), encoder.max_tokens()),
                    "use the tokenizer of the same model"});
    return;
  }
  for (const auto& [name, prompts] : proposal.texts) {
    for (const std::string& text : prompts) {
      text::TokenizedPrompt tokenized = clip.encode(text, "inputs." + name);
      if (tokenized.cut.empty()) continue;
      proposal.warn({"inputs." + name, tokenized.cut,
                     fmt::format("this end of the prompt lies beyond the text encoder's window of "
                                 "{} tokens, and was cut",
                                 clip.window()),
                     "shorten the prompt"});
    }
  }
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto pictures = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  Tensor ids = token_ids(frame[tokenizer], prompts);
  // The reference skips layers for the prompt itself, never for what stands in for it.
  int64_t skip = frame.renamed(prompt) ? 0 : frame[clip_skip];
  Tensor embeds = frame.call(
      text_encoder, {{"ids", ids}},
      [skip](const CLIPTextModel& encoder, Context& cx, const NamedTensors& in) {
        return encoder.forward(cx, in.at("ids"), {.clip_skip = skip}).last_hidden_state;
      },
      fmt::format("clip_skip={}", skip));
  // A prompt's pictures stand together; one negative prompt serves all.
  frame[prompt_embeds] = embeds.repeat_interleave(pictures / embeds.size(0), 0);
}

}  // namespace omnirt::blocks
