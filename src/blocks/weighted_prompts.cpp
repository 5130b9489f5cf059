#include "blocks/weighted_prompts.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "blocks/compel_prompts.hpp"
#include "blocks/prompt_turns.hpp"
#include "text/prompt_a1111.hpp"
#include "text/prompt_compel.hpp"
#include "text/prompt_schedule.hpp"

namespace omnirt::blocks {
namespace {

// Ids that a window has room for.
int64_t room_of(const text::Tokenizer& tokenizer) {
  return tokenizer.window() - 2;
}

std::vector<WeightedTokens> tokens_of(const text::Tokenizer& tokenizer,
                                      const std::vector<std::string>& prompts, int64_t filler,
                                      int64_t length, int64_t fill_up) {
  std::vector<WeightedTokens> all;
  for (const std::string& prompt : prompts) {
    all.push_back(weighted_tokens(tokenizer, prompt, "prompt", filler));
    all.back().ids.resize(static_cast<size_t>(length), fill_up);
    all.back().weights.resize(static_cast<size_t>(length), 1);
  }
  return all;
}

// `count` windows {prompts * count, room + 2} of each prompt's ids from `from` on.
Tensor framed(const std::vector<WeightedTokens>& prompts, const FrameIds& around, int64_t from,
              int64_t count, int64_t room) {
  auto rows = static_cast<int64_t>(prompts.size()) * count;
  Tensor ids = at::empty({rows, room + 2}, at::kLong);
  int64_t* out = ids.mutable_data_ptr<int64_t>();
  for (const WeightedTokens& prompt : prompts) {
    const int64_t* words = prompt.ids.data() + from;
    for (int64_t i = 0; i < count; ++i, words += room) {
      *out++ = around.begin;
      out = std::copy(words, words + room, out);
      *out++ = around.end;
    }
  }
  return ids;
}

// Weights for `framed`, {prompts, count * (room + 2)}: 1 for what encloses the words.
Tensor framed_weights(const std::vector<WeightedTokens>& prompts, int64_t from, int64_t count,
                      int64_t room) {
  auto rows = static_cast<int64_t>(prompts.size());
  Tensor weights = at::ones({rows, count * (room + 2)}, at::kFloat);
  auto* out = weights.mutable_data_ptr<float>();
  for (const WeightedTokens& prompt : prompts) {
    const float* words = prompt.weights.data() + from;
    for (int64_t i = 0; i < count; ++i, words += room, out += room + 2)
      std::copy(words, words + room, out + 1);
  }
  return weights;
}

}  // namespace

FrameIds frame_ids(const text::Tokenizer& tokenizer) {
  // An empty text: begin, end, padding.
  text::TokenizedPrompt empty = tokenizer.encode("", "prompt", 3);
  return {empty.ids[0], empty.ids[1], empty.ids[2]};
}

WeightedTokens weighted_tokens(const text::Tokenizer& tokenizer, const std::string& text,
                               const std::string& field, int64_t filler) {
  WeightedTokens made;
  auto window = static_cast<size_t>(room_of(tokenizer)), most = window * max_windows;
  for (const text::WeightedSection& section : text::parse_a1111(text, field)) {
    // A section that is not the first begins a window.
    size_t begin = made.ids.empty() ? 0 : (made.ids.size() + window - 1) / window * window;
    made.ids.resize(begin, filler);
    made.weights.resize(begin, 1);
    for (const text::WeightedText& part : section) {
      size_t left = most - std::min(most, made.ids.size());
      auto tokens = tokenizer.encode(part.text, field, static_cast<int64_t>(left) + 2);
      if (!tokens.cut.empty()) {
        throw InvalidRequest(
            Finding{field, tokens.cut,
                    fmt::format("the prompt is longer than {} windows of the text encoder, {} "
                                "tokens; it ends before this",
                                max_windows, most),
                    "shorten the prompt"});
      }
      made.ids.insert(made.ids.end(), tokens.ids.begin() + 1, tokens.ids.begin() + tokens.used - 1);
      made.weights.resize(made.ids.size(), static_cast<float>(part.weight));
    }
  }
  return made;
}

int64_t most_tokens(const text::Tokenizer& tokenizer,
                    const std::vector<const std::vector<std::string>*>& texts, int64_t steps) {
  size_t most = 0;
  for (const auto* each : texts) {
    for (const std::string& text : *each) {
      for (const std::string& turn : text::schedule_of(text, "prompt", steps).texts)
        most = std::max(most, weighted_tokens(tokenizer, turn, "prompt", 0).ids.size());
    }
  }
  return static_cast<int64_t>(most);
}

WeightedRows rows_of_windows(const text::Tokenizer& tokenizer,
                             const std::vector<std::string>& prompts, int64_t tokens) {
  FrameIds around = frame_ids(tokenizer);
  int64_t room = room_of(tokenizer), count = std::max<int64_t>(1, (tokens + room - 1) / room);
  auto all = tokens_of(tokenizer, prompts, around.pad, count * room, around.pad);
  return {framed(all, around, 0, count, room), Tensor(), framed_weights(all, 0, count, room)};
}

WeightedRows rows_of_words(const text::Tokenizer& tokenizer,
                           const std::vector<std::string>& prompts, int64_t tokens) {
  FrameIds around = frame_ids(tokenizer);
  int64_t room = room_of(tokenizer), whole = tokens / room, rest = tokens % room;
  auto all = tokens_of(tokenizer, prompts, around.end, tokens, around.end);
  WeightedRows made;
  std::vector<Tensor> weights;
  if (whole > 0) {
    made.windows = framed(all, around, 0, whole, room);
    weights.push_back(framed_weights(all, 0, whole, room));
  }
  if (rest > 0 || whole == 0) {
    made.rest = framed(all, around, whole * room, 1, rest);
    weights.push_back(framed_weights(all, whole * room, 1, rest));
  }
  made.weights = at::cat(weights, 1);
  return made;
}

Tensor weigh_by_mean(const Tensor& states, const Tensor& weights) {
  Tensor before =
      states.to(at::kFloat).mean(at::IntArrayRef{-2, -1}, true).to(states.scalar_type());
  Tensor weighed = states * weights.to(states.scalar_type()).unsqueeze(-1);
  Tensor after =
      weighed.to(at::kFloat).mean(at::IntArrayRef{-2, -1}, true).to(states.scalar_type());
  Tensor ratio = before / after;
  // Where weights leave nothing, there is nothing to scale.
  return weighed * at::where(ratio.isfinite(), ratio, at::ones_like(ratio));
}

Tensor weigh_from_last(const Tensor& states, const Tensor& weights) {
  Tensor last = states.narrow(1, states.size(1) - 1, 1);
  Tensor scale = weights.to(states.scalar_type()).unsqueeze(-1);
  return at::where(scale == 1, states, last + (states - last) * scale);
}

void warn_of_syntax(Checks& checks, const Texts& texts) {
  for (const auto& [input, given] : texts) {
    for (const std::string& text : given) {
      std::string weight(text::a1111_weight_in(text)), tag(text::adapter_tag_in(text));
      std::string operation(text::compel_operator_in(text));
      if (!operation.empty()) {
        checks.warn({"inputs." + input, operation,
                     "a plain prompt has no operators: these are words",
                     "set config.prompt_syntax=compel, which reads them"});
      }
      if (!weight.empty()) {
        checks.warn({"inputs." + input, weight, "a plain prompt has no weights: these are words",
                     "set config.prompt_syntax=a1111, which reads them as weights"});
      }
      if (!tag.empty()) {
        checks.warn({"inputs." + input, tag, "a plain prompt names no adapters: these are words",
                     "set adapters.path=FILE, or config.prompt_syntax=a1111"});
      }
    }
  }
}

namespace {

// Calls `read` with each text and its field; false, and findings, where it refuses one.
bool check_each(Checks& checks, const Texts& texts,
                const std::function<void(const std::string&, const std::string&)>& read) {
  bool fine = true;
  for (const auto& [input, given] : texts) {
    for (const std::string& text : given) {
      try {
        read(text, "inputs." + input);
      } catch (const InvalidRequest& thrown) {
        fine = false;
        for (const Finding& finding : thrown.findings()) checks.error(finding);
      }
    }
  }
  return fine;
}

// The prompts of an input change together.
void check_turns(Checks& checks, const std::string& input, const std::vector<std::string>& given,
                 int64_t steps) {
  std::string field = "inputs." + input;
  try {
    turns_of(given, field, steps);
  } catch (const InvalidRequest& thrown) {
    for (const Finding& finding : thrown.findings()) checks.error(finding);
  }
}

}  // namespace

void check_syntax(Checks& checks, const PromptReading& reading, const Texts& texts) {
  const PromptSyntax syntax = checks[reading.syntax];
  if (syntax == PromptSyntax::plain) return warn_of_syntax(checks, texts);
  const int64_t steps = checks[reading.steps];
  bool fine = check_each(checks, texts, [&](const std::string& text, const std::string& field) {
    if (syntax == PromptSyntax::compel) {
      text::parse_compel(text, field);
      return;
    }
    for (const std::string& turn : text::schedule_of(text, field, steps).texts)
      text::parse_a1111(turn, field);
  });
  if (!fine || syntax != PromptSyntax::a1111) return;
  for (const auto& [input, given] : texts) check_turns(checks, input, given, steps);
}

void check_weighted_tokens(Checks& checks, const PromptReading& reading,
                           const Component<text::Tokenizer>& tokenizer,
                           const CLIPTextModel& text_encoder, const Texts& texts) {
  const PromptSyntax syntax = checks[reading.syntax];
  if (syntax == PromptSyntax::plain) return check_tokens(checks, tokenizer, text_encoder, texts);
  check_tokens(checks, tokenizer, text_encoder, {});
  if (room_of(checks[tokenizer]) < 1) {
    checks.error({"model." + tokenizer.name(), fmt::format("window {}", checks[tokenizer].window()),
                  "leaves no room for words", "use the tokenizer of the same model"});
    return;
  }
  const int64_t steps = checks[reading.steps];
  check_each(checks, texts, [&](const std::string& text, const std::string& field) {
    if (syntax == PromptSyntax::compel) {
      compel_windows(checks[tokenizer], text, field);
      return;
    }
    for (const std::string& turn : text::schedule_of(text, field, steps).texts)
      weighted_tokens(checks[tokenizer], turn, field, 0);
  });
}

}  // namespace omnirt::blocks
