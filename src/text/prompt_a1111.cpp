#include "text/prompt_a1111.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "text/prompt_text.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

constexpr double bracket_factor = 1.1;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// As \w reads it, but that all of what is not ASCII belongs to words.
bool in_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Of the characters that Unicode classes as digits, \d and float() accept those of every script.
size_t behind_digits(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    const char32_t c = next_codepoint(text, next);
    if (c != '.' && char_class(c) != CharClass::number) break;
    at = next;
  }
  return at;
}

// \s*
size_t behind_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    const char32_t c = next_codepoint(text, next);
    const bool separator = c >= 0x1c && c <= 0x1f;
    if (!separator && char_class(c) != CharClass::space) break;
    at = next;
  }
  return at;
}

struct GivenWeight {
  std::string_view number;
  size_t length = 0;  // up to and with the bracket; 0: there is no weight
};

// \s*([+-]?[.\d]+)\s*\) at the front of `text`, which follows a colon.
GivenWeight weight_after_colon(std::string_view text) {
  const size_t begin = behind_space(text, 0);
  const bool sign = begin < text.size() && (text[begin] == '+' || text[begin] == '-');
  const size_t digits = begin + (sign ? 1 : 0), end = behind_digits(text, digits);
  const size_t close = behind_space(text, end);
  if (end == digits || close == text.size() || text[close] != ')') return {};
  return {text.substr(begin, end - begin), close + 1};
}

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// Where `word` is on its own in `text`; npos: nowhere.
size_t find_word(std::string_view text, std::string_view word, size_t from = 0) {
  for (size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end])))
      return at;
  }
  return text.npos;
}

struct Piece {
  std::string text;
  double weight = 1;
  bool ends_section = false;
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view field) : text_(text), field_(field) {}

  std::vector<WeightedSection> read() {
    while (at_ < text_.size()) step();
    for (size_t open : round_) multiply(open, bracket_factor);
    for (size_t open : square_) multiply(open, 1 / bracket_factor);
    return sections();
  }

 private:
  [[noreturn]] void refuse(std::string_view value, std::string message, std::string fix) const {
    constexpr size_t shown = 80;
    std::string quoted(value.substr(0, shown));
    while (value.size() > shown && !quoted.empty() &&
           static_cast<unsigned char>(quoted.back()) >= 0x80)
      quoted.pop_back();
    throw InvalidRequest(
        Finding{std::string(field_), std::move(quoted), std::move(message), std::move(fix)});
  }

  void add(std::string_view text, bool ends_section = false) {
    if (pieces_.size() == max_prompt_pieces) {
      refuse(text_.substr(at_), fmt::format("more than {} parts and brackets", max_prompt_pieces),
             "shorten the prompt");
    }
    pieces_.push_back({std::string(text), 1, ends_section});
  }

  void multiply(size_t from, double factor) {
    for (size_t i = from; i < pieces_.size(); ++i) pieces_[i].weight *= factor;
  }

  void open(std::vector<size_t>& brackets) {
    if (round_.size() + square_.size() == max_prompt_depth) {
      refuse(text_.substr(at_), fmt::format("more than {} brackets are open", max_prompt_depth),
             "write a weight as (words:1.3)");
    }
    brackets.push_back(pieces_.size());
    ++at_;
  }

  void close(std::vector<size_t>& brackets, double factor) {
    multiply(brackets.back(), factor);
    brackets.pop_back();
  }

  void step() {
    char c = text_[at_];
    if (c == '\\') return escape();
    if (c == '(') return open(round_);
    if (c == '[') return open(square_);
    if (c == ':' && weight()) return;
    if (c == ')' && !round_.empty()) {
      close(round_, bracket_factor);
    } else if (c == ']' && !square_.empty()) {
      close(square_, 1 / bracket_factor);
    } else if (c == ':' || c == ')' || c == ']') {
      add(text_.substr(at_, 1));
    } else {
      return words();
    }
    ++at_;
  }

  void escape() {
    constexpr std::string_view escaped = "()[]\\";
    bool pair = at_ + 1 < text_.size() && escaped.find(text_[at_ + 1]) != escaped.npos;
    add(pair ? text_.substr(at_ + 1, 1) : "");
    at_ += pair ? 2 : 1;
  }

  // ":1.2)"; without an open bracket these are words.
  bool weight() {
    const GivenWeight given = weight_after_colon(text_.substr(at_ + 1));
    if (given.length == 0) return false;
    if (round_.empty()) {
      add(text_.substr(at_, 1 + given.length));
    } else {
      auto factor = number_of(given.number);
      if (!factor) refuse(given.number, "a weight that is no number", "write it as in (words:1.2)");
      multiply(round_.back(), *factor);
      round_.pop_back();
    }
    at_ += 1 + given.length;
    return true;
  }

  void words() {
    std::string_view run = text_.substr(at_);
    run = run.substr(0, run.find_first_of("\\()[]:"));
    size_t both = find_word(run, "AND");
    if (both != run.npos) {
      refuse(run.substr(both), "composed prompts (AND) are not supported by prompt_syntax a1111",
             "write the word in small letters, or BREAK");
    }
    at_ += run.size();
    constexpr std::string_view stop = "BREAK";
    for (size_t end = find_word(run, stop); end != run.npos; end = find_word(run, stop)) {
      add(run.substr(0, end));
      add("", /*ends_section=*/true);
      run.remove_prefix(end + stop.size());
    }
    add(run);
  }

  // Neighbours of one weight are one part, as in the reference: words may join there.
  std::vector<WeightedSection> sections() const {
    std::vector<WeightedSection> all(1);
    for (const Piece& piece : pieces_) {
      if (piece.ends_section) {
        all.emplace_back();
        continue;
      }
      if (std::abs(piece.weight) > max_prompt_weight) {
        refuse(fmt::format("{}", piece.weight),
               fmt::format("a weight beyond {}", max_prompt_weight), "write a smaller one");
      }
      WeightedSection& section = all.back();
      if (!section.empty() && section.back().weight == piece.weight)
        section.back().text += piece.text;
      else
        section.push_back({piece.text, piece.weight});
    }
    for (WeightedSection& section : all) {
      if (section.empty()) section.emplace_back();
    }
    return all;
  }

  std::string_view text_, field_;
  size_t at_ = 0;
  std::vector<Piece> pieces_;
  std::vector<size_t> round_, square_;  // the first piece after each
};

constexpr std::array tag_openings{std::string_view("<lora:"), std::string_view("<lyco:"),
                                  std::string_view("<hypernet:")};

constexpr size_t max_tag_bytes = 512;  // longer ones are words

// The first tag in `text` from `from` on; empty: none.
std::string_view tag_in(std::string_view text, size_t from = 0) {
  for (size_t at = text.find('<', from); at != text.npos; at = text.find('<', at + 1)) {
    std::string_view rest = text.substr(at);
    bool opens = std::ranges::any_of(tag_openings,
                                     [&](std::string_view name) { return rest.starts_with(name); });
    size_t end = opens ? rest.substr(0, max_tag_bytes).find('>') : rest.npos;
    if (end != rest.npos) return rest.substr(0, end + 1);
  }
  return {};
}

AdapterTag read_tag(std::string_view tag, std::string_view field) {
  auto refuse = [&](std::string message) {
    constexpr size_t shown = 80;
    std::string quoted =
        tag.size() > shown ? "a tag of " + std::to_string(tag.size()) + " bytes" : std::string(tag);
    throw InvalidRequest(
        Finding{std::string(field), quoted, std::move(message), "write <lora:name:0.8>"});
  };
  if (tag.starts_with("<hypernet:")) refuse("hypernetworks are not supported");
  std::string_view inside = tag.substr(tag.find(':') + 1);
  inside.remove_suffix(1);
  size_t colon = inside.find(':');
  AdapterTag made{std::string(trimmed(inside.substr(0, colon)))};
  if (made.name.empty()) refuse("a tag that names no adapter");
  if (colon == inside.npos) return made;
  std::string_view scale = trimmed(inside.substr(colon + 1));
  if (scale.find(':') != scale.npos) refuse("a tag with more than one scale");
  auto number = number_of(scale);
  if (!number) refuse("a scale that is no number");
  made.scale = *number;
  return made;
}

}  // namespace

std::vector<WeightedSection> parse_a1111(std::string_view text, std::string_view field) {
  check_prompt(text, field);
  return Reader(text, field).read();
}

TaggedPrompt take_adapter_tags(std::string_view text, std::string_view field) {
  check_prompt(text, field);
  TaggedPrompt made;
  size_t from = 0;
  for (std::string_view tag = tag_in(text); !tag.empty(); tag = tag_in(text, from)) {
    if (made.adapters.size() == max_prompt_adapters) {
      throw InvalidRequest(Finding{std::string(field), "",
                                   fmt::format("more than {} adapters", max_prompt_adapters),
                                   "remove some"});
    }
    made.adapters.push_back(read_tag(tag, field));
    auto at = static_cast<size_t>(tag.data() - text.data());
    made.text += text.substr(from, at - from);
    from = at + tag.size();
  }
  made.text += text.substr(from);
  return made;
}

std::string_view a1111_weight_in(std::string_view text) {
  for (size_t open = text.find('('); open != text.npos; open = text.find('(', open + 1)) {
    std::string_view rest = text.substr(open);
    size_t colon = rest.find_first_of(":()", 1);
    if (colon == rest.npos || rest[colon] != ':') continue;
    const GivenWeight weight = weight_after_colon(rest.substr(colon + 1));
    if (weight.length > 0) return rest.substr(0, colon + 1 + weight.length);
  }
  return {};
}

std::string_view adapter_tag_in(std::string_view text) {
  return tag_in(text);
}

}  // namespace omnirt::text
