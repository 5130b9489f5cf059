#include "blocks/compel_prompts.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "blocks/weighted_prompts.hpp"
#include "text/prompt_compel.hpp"

namespace omnirt::blocks {
namespace {

// A prompt's ids in whole windows, with a weight for each.
struct Tokens {
  std::vector<int64_t> ids;
  std::vector<float> weights;
  // Of each part of a weight below 1: the weight, and the places of its first and last token.
  struct Lowered {
    double weight;
    size_t first, last;
  };
  std::vector<Lowered> lowered;
};

// After the last of `ends` among the first `room` ids; 0: there is none.
size_t behind_last(const text::Tokenizer& tokenizer, std::span<const int64_t> ids, size_t room,
                   std::initializer_list<std::string_view> ends) {
  for (size_t i = room; i > 0; --i) {
    std::string_view token = tokenizer.token(ids[i - 1]);
    if (std::ranges::find(ends, token) != ends.end()) return i;
  }
  return 0;
}

// How many ids go into the next window: up to the end of a sentence, of a phrase, of a word.
size_t next_window(const text::Tokenizer& tokenizer, std::span<const int64_t> ids, size_t room) {
  if (ids.size() <= room) return ids.size();
  if (size_t end = behind_last(tokenizer, ids, room, {".</w>"})) return end;
  if (size_t end = behind_last(tokenizer, ids, room, {".</w>", ",</w>", ";</w>", ":</w>"}))
    return end;
  for (size_t i = room; i > 0; --i) {
    if (tokenizer.token(ids[i - 1]).ends_with("</w>")) return i;
  }
  return room;
}

std::vector<int64_t> ids_of(const text::Tokenizer& tokenizer, const std::string& text,
                            const std::string& field, size_t most) {
  auto tokens = tokenizer.encode(text, field, static_cast<int64_t>(most) + 2);
  if (!tokens.cut.empty()) {
    throw InvalidRequest(
        Finding{field, tokens.cut,
                fmt::format("the prompt is longer than {} windows of the text encoder; it ends "
                            "before this",
                            max_windows),
                "shorten the prompt"});
  }
  return {tokens.ids.begin() + 1, tokens.ids.begin() + tokens.used - 1};
}

// Where the i-th of the words is, between the tokens that enclose them.
std::vector<size_t> framed(const text::Tokenizer& tokenizer, std::span<const int64_t> words,
                           std::span<const float> weights, Tokens& made) {
  FrameIds around = frame_ids(tokenizer);
  auto window = static_cast<size_t>(tokenizer.window());
  std::vector<size_t> places;
  do {
    size_t count = next_window(tokenizer, words, window - 2), begin = made.ids.size();
    made.ids.push_back(around.begin);
    made.ids.insert(made.ids.end(), words.begin(), words.begin() + static_cast<int64_t>(count));
    made.ids.push_back(around.end);
    made.ids.resize(begin + window, around.pad);
    made.weights.resize(begin + window, 1);
    std::copy_n(weights.begin(), count, made.weights.begin() + static_cast<int64_t>(begin) + 1);
    for (size_t i = 0; i < count; ++i) places.push_back(begin + 1 + i);
    words = words.subspan(count);
    weights = weights.subspan(count);
  } while (!words.empty());
  return places;
}

Tokens tokens_of(const text::Tokenizer& tokenizer, const text::WeightedSection& prompt,
                 const std::string& field) {
  struct Part {
    double weight;
    size_t begin, end;
  };
  std::vector<int64_t> words;
  std::vector<float> weights;
  std::vector<Part> parts;
  size_t most = static_cast<size_t>(tokenizer.window() - 2) * max_windows;
  for (const text::WeightedText& part : prompt) {
    auto ids = ids_of(tokenizer, part.text, field, most - words.size());
    size_t begin = words.size();
    words.insert(words.end(), ids.begin(), ids.end());
    weights.resize(words.size(), static_cast<float>(part.weight));
    if (part.weight < 1 && !ids.empty()) parts.push_back({part.weight, begin, words.size()});
  }
  Tokens made;
  std::vector<size_t> places = framed(tokenizer, words, weights, made);
  for (const Part& part : parts)
    made.lowered.push_back({part.weight, places[part.begin], places[part.end - 1]});
  return made;
}

int64_t windows_of(const Tokens& tokens, int64_t window) {
  return static_cast<int64_t>(tokens.ids.size()) / window;
}

// Embeddings {n, T, D} added by weight; divided by the sum of weights where `normalize`.
Tensor mixed(const std::vector<Tensor>& embeddings, const std::vector<double>& weights,
             bool normalize) {
  if (embeddings.size() == 1 && (normalize || weights.front() == 1)) return embeddings.front();
  Tensor factors = at::tensor(weights, at::kDouble).to(embeddings.front().scalar_type());
  if (normalize) factors = factors / factors.sum();
  return (at::stack(embeddings) * factors.reshape({-1, 1, 1})).sum(0);
}

class Encoding {
 public:
  Encoding(const text::Tokenizer& tokenizer, const MaskedStates& states)
      : tokenizer_(tokenizer), states_(states) {}

  // {T, D}
  Tensor prompt(const text::CompelPrompt& prompt) {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < prompt.parts.size(); ++i) {
      Tensor made = blend(prompt.parts[i]);
      if (prompt.weights[i] != 1) {
        Tensor none = filled_up({}, made.size(0));
        made = none + (made - none) * prompt.weights[i];
      }
      parts.push_back(made);
    }
    return at::cat(parts);
  }

  // States of the empty prompt after those given, up to `length`.
  Tensor filled_up(const Tensor& states, int64_t length) {
    std::vector<Tensor> parts;
    if (states.defined()) parts.push_back(states);
    int64_t have = states.defined() ? states.size(0) : 0;
    for (; have < length; have += tokenizer_.window()) parts.push_back(empty());
    return at::cat(parts);
  }

 private:
  Tensor blend(const text::CompelBlend& blend) {
    std::vector<Tensor> all;
    int64_t longest = 0;
    for (const text::WeightedSection& section : blend.prompts) {
      all.push_back(section_states(tokens_of(tokenizer_, section, "prompt")));
      longest = std::max(longest, all.back().size(0));
    }
    for (Tensor& states : all) states = filled_up(states, longest);
    return mixed(all, blend.weights, blend.normalize);
  }

  Tensor section_states(const Tokens& tokens) {
    int64_t window = tokenizer_.window(), windows = windows_of(tokens, window);
    Tensor ids = at::tensor(tokens.ids, at::kLong).reshape({windows, window});
    Tensor weights = at::tensor(tokens.weights, at::kFloat).reshape({windows, window, 1});
    Tensor mask = at::ones({windows, window}, at::kFloat);
    std::vector<Tensor> all{weighed(states_(ids, mask), weights)};
    std::vector<double> factors{1};
    for (const Tokens::Lowered& part : tokens.lowered) {
      all.push_back(weighed(states_(ids, without(mask, part)), weights));
      constexpr double least = 1e-5;  // less would be endless
      factors.push_back(std::tan((1 - std::max(least, part.weight)) * std::numbers::pi / 2));
    }
    return mixed(all, factors, /*normalize=*/true);
  }

  // What is at the ends of windows stays visible.
  Tensor without(const Tensor& mask, const Tokens::Lowered& part) const {
    Tensor made = mask.clone();
    made.view(-1)
        .slice(0, static_cast<int64_t>(part.first), static_cast<int64_t>(part.last) + 1)
        .fill_(0);
    made.select(1, 0).fill_(1);
    made.select(1, tokenizer_.window() - 1).fill_(1);
    return made;
  }

  // {n, window, D} -> {n * window, D}
  Tensor weighed(const Tensor& states, const Tensor& weights) {
    Tensor made = states;
    Tensor plain = weights == 1;
    if (!plain.all().item<bool>()) {
      Tensor moved = empty() + (states - empty()) * weights.to(states.scalar_type());
      made = at::where(plain, states, moved);
    }
    return made.reshape({-1, states.size(2)});
  }

  const Tensor& empty() {
    if (!empty_.defined()) {
      Tokens none = tokens_of(tokenizer_, {{"", 1}}, "prompt");
      Tensor ids = at::tensor(none.ids, at::kLong).reshape({1, -1});
      empty_ = states_(ids, at::ones(ids.sizes(), at::kFloat)).squeeze(0);
    }
    return empty_;
  }

  const text::Tokenizer& tokenizer_;
  const MaskedStates& states_;
  Tensor empty_;  // {window, D}
};

}  // namespace

int64_t compel_windows(const text::Tokenizer& tokenizer, const std::string& text,
                       const std::string& field) {
  int64_t windows = 0, encoded = 1;
  for (const text::CompelBlend& blend : text::parse_compel(text, field).parts) {
    int64_t longest = 0;
    for (const text::WeightedSection& section : blend.prompts) {
      Tokens tokens = tokens_of(tokenizer, section, field);
      int64_t count = windows_of(tokens, tokenizer.window());
      longest = std::max(longest, count);
      encoded += count * static_cast<int64_t>(1 + tokens.lowered.size());
    }
    windows += longest;
  }
  auto refuse = [&](const char* what, int64_t count, int64_t most) {
    throw InvalidRequest(
        Finding{field, fmt::format("{} windows", count),
                fmt::format("{} at most {} of the text encoder's windows", what, most),
                "shorten the prompt, or write fewer weights below 1"});
  };
  if (windows > max_windows) refuse("a prompt may have", windows, max_windows);
  if (encoded > max_encoded_windows)
    refuse("a prompt and its parts may take", encoded, max_encoded_windows);
  return windows;
}

int64_t most_compel_windows(const text::Tokenizer& tokenizer,
                            const std::vector<const std::vector<std::string>*>& texts) {
  int64_t most = 1;
  for (const auto* each : texts) {
    for (const std::string& text : *each)
      most = std::max(most, compel_windows(tokenizer, text, "prompt"));
  }
  return most;
}

Tensor compel_states(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts,
                     int64_t windows, const MaskedStates& states) {
  Encoding encoding(tokenizer, states);
  std::vector<Tensor> all;
  for (const std::string& text : prompts) {
    Tensor made = encoding.prompt(text::parse_compel(text, "prompt"));
    all.push_back(encoding.filled_up(made, windows * tokenizer.window()));
  }
  return at::stack(all);
}

}  // namespace omnirt::blocks
