#include "text/prompt_compel_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace omnirt::text {
namespace {

constexpr double plus_base = 1.1, minus_base = 0.9;
constexpr std::string_view blanks = " \t\r\n", marks = "()\",.+-=";

bool is_one_of(std::string_view characters, char c) {
  return characters.find(c) != characters.npos;
}

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_keyword(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-';
}

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void CompelText::refuse(size_t at, const std::string& message, const std::string& fix) const {
  constexpr size_t shown = 80;
  std::string quoted(text_.substr(at, shown));
  while (text_.size() - at > shown && !quoted.empty() &&
         static_cast<unsigned char>(quoted.back()) >= 0x80)
    quoted.pop_back();
  throw InvalidRequest(Finding{std::string(field_), std::move(quoted), message, fix});
}

size_t CompelText::behind_space(size_t at) const {
  while (at < text_.size() && is_one_of(blanks, text_[at])) ++at;
  return at;
}

std::optional<size_t> CompelText::literal(size_t at, std::string_view text) const {
  at = behind_space(at);
  if (!text_.substr(at).starts_with(text)) return std::nullopt;
  return at + text.size();
}

// [+-]?(\d+\.\d*|\.\d+), or else -?\d+.
std::optional<std::pair<double, size_t>> CompelText::number(size_t at) const {
  at = behind_space(at);
  size_t end = at;
  auto digits = [&] {
    size_t from = end;
    while (end < text_.size() && is_ascii_digit(text_[end])) ++end;
    return end - from;
  };
  bool plus = end < text_.size() && text_[end] == '+';
  if (plus || (end < text_.size() && text_[end] == '-')) ++end;
  size_t whole = digits(), behind = 0;
  bool point = end < text_.size() && text_[end] == '.';
  if (point) {
    ++end;
    behind = digits();
    if (whole == 0 && behind == 0) return std::nullopt;
  } else if (whole == 0 || plus) {
    return std::nullopt;
  }
  std::string digits_only(text_.substr(at + (plus ? 1 : 0), end - at - (plus ? 1 : 0)));
  double value = 0;
  auto read = std::from_chars(digits_only.data(), digits_only.data() + digits_only.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value))
    refuse(at, "a weight that is no number", "write it as in (words)1.2");
  return std::pair(value, end);
}

std::optional<std::pair<std::string, size_t>> CompelText::keyword(size_t at) const {
  at = behind_space(at);
  size_t end = at;
  while (end < text_.size() && is_keyword(text_[end])) ++end;
  if (end == at) return std::nullopt;
  return std::pair(std::string(text_.substr(at, end - at)), end);
}

// A run of + or of -: a weight of 1.1 or 0.9 each.
std::optional<std::pair<double, size_t>> CompelText::signs(size_t at) const {
  at = behind_space(at);
  if (at == text_.size() || (text_[at] != '+' && text_[at] != '-')) return std::nullopt;
  size_t end = at;
  while (end < text_.size() && text_[end] == text_[at]) ++end;
  return std::pair(
      std::pow(text_[at] == '+' ? plus_base : minus_base, static_cast<double>(end - at)), end);
}

// name=value, a number, or a flag.
std::optional<std::pair<std::string, size_t>> CompelText::option(size_t at) const {
  if (auto name = keyword(at)) {
    if (auto equals = literal(name->second, "=")) {
      if (auto value = number(*equals)) return std::pair(name->first, value->second);
      if (auto value = keyword(*equals)) return std::pair(name->first, value->second);
    }
  }
  if (auto value = number(at)) return std::pair(fmt::format("{}", value->first), value->second);
  return keyword(at);
}

std::vector<std::string> CompelText::options(size_t& at) const {
  std::vector<std::string> all;
  auto next = option(at);
  while (next) {
    all.push_back(std::move(next->first));
    at = next->second;
    auto comma = literal(at, ",");
    if (!comma) break;
    next = option(*comma);
  }
  return all;
}

bool CompelText::continues_word(size_t at) const {
  char c = text_[at];
  if (c != '+' && c != '-') return !is_one_of(blanks, c) && !is_one_of(marks, c);
  // A sign belongs to a word whose letters continue after it.
  return at + 1 < text_.size() && !is_one_of(blanks, text_[at + 1]) &&
         !is_one_of(marks, text_[at + 1]);
}

// A word without what has a meaning of its own, except what follows a backslash.
std::optional<std::pair<std::string_view, size_t>> CompelText::word(size_t at) const {
  at = behind_space(at);
  size_t end = at;
  while (end < text_.size()) {
    bool escaped = text_[end] == '\\' && end + 1 < text_.size() && is_one_of(marks, text_[end + 1]);
    if (!escaped && !continues_word(end)) break;
    end += escaped ? 2 : 1;
  }
  if (end == at) return std::nullopt;
  return std::pair(text_.substr(at, end - at), end);
}

std::pair<std::string_view, size_t> CompelText::free_word(size_t at) const {
  at = behind_space(at);
  size_t end = std::min(text_.find_first_of(blanks, at), text_.size());
  return {text_.substr(at, end - at), end};
}

// What is between quotes, with its own \" as ", and the place after it.
std::optional<std::pair<std::string, size_t>> CompelText::quotation(size_t at) const {
  at = behind_space(at);
  if (at == text_.size() || text_[at] != '"') return std::nullopt;
  size_t end = at + 1, escaped = text_.npos;
  for (; end < text_.size() && text_[end] != '"'; ++end) {
    if (text_[end] == '\n' || text_[end] == '\r') return std::nullopt;
    if (text_.substr(end).starts_with("\\\"")) escaped = ++end;
  }
  // Where nothing else closes it, the last \" does, of which the backslash is a character then.
  if (end >= text_.size()) end = escaped;
  if (end == text_.npos) return std::nullopt;
  std::string inside(text_.substr(at + 1, end - at - 1));
  for (std::string_view blank : {"\\t", "\\n", "\\f", "\\r"}) replace_all(inside, blank, " ");
  replace_all(inside, "\\\"", "\"");
  return std::pair(std::move(inside), end + 1);
}

}  // namespace omnirt::text
