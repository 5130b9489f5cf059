#include "io/json_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_half_of_a_pair(char32_t c) {
  return c >= 0xD800 && c < 0xE000;
}

// The characters that a string holds as they are: all but the quote, the backslash and controls.
constexpr auto plain_characters = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 256; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

}  // namespace

JsonScanner::JsonScanner(std::string_view text, const std::string& file, size_t offset)
    : text_(text), file_(file), offset_(offset) {
  size_t invalid = find_invalid_utf8(text);
  if (invalid == std::string_view::npos) return;
  throw InvalidFile({file_, "",
                     fmt::format("not UTF-8: byte 0x{:02x} at offset {}",
                                 static_cast<unsigned char>(text[invalid]), offset_ + invalid),
                     ""});
}

void JsonScanner::fail(const std::string& message) const {
  std::string field = file_;
  if (!subject_.empty()) field += ": tensor " + shown_name(subject_);
  throw InvalidFile({field, "", fmt::format("{} (at byte {})", message, offset_ + at_), ""});
}

// What is at the current place, for a message.
std::string JsonScanner::found() const {
  return at_ < text_.size() ? shown_name(text_.substr(at_, 20)) : "the end";
}

// The next character that is no white space, or zero at the end. (A zero byte in the text is no
// legal JSON either.)
char JsonScanner::peek() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
    ++at_;
  }
  return '\0';
}

bool JsonScanner::take(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonScanner::expect(char c, std::string_view where) {
  if (!take(c)) fail(fmt::format("'{}' expected in {}, found {}", c, where, found()));
}

bool JsonScanner::take_null() {
  peek();
  if (!text_.substr(at_).starts_with("null")) return false;
  at_ += 4;
  return true;
}

std::string JsonScanner::string(std::string_view where) {
  if (peek() != '"') fail(fmt::format("a string expected in {}, found {}", where, found()));
  ++at_;
  std::string out;
  while (true) {
    size_t start = at_;
    while (at_ < text_.size() && plain_characters[static_cast<unsigned char>(text_[at_])]) ++at_;
    out.append(text_, start, at_ - start);
    if (at_ == text_.size()) fail("a string that does not end");
    char c = text_[at_];
    if (c != '"' && c != '\\') fail("a control character in a string");
    ++at_;
    if (c == '"') return out;
    escape(out);
  }
}

void JsonScanner::escape(std::string& out) {
  constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  char name = at_ < text_.size() ? text_[at_] : '\0';
  if (size_t i = names.find(name); i != names.npos) {
    ++at_;
    out += meanings[i];
    return;
  }
  if (name != 'u') fail("an unknown escape in a string");
  ++at_;
  char32_t code_point = four_hex_digits();
  if (is_half_of_a_pair(code_point)) {
    if (code_point >= 0xDC00 || !text_.substr(at_).starts_with("\\u")) fail("half a character");
    at_ += 2;
    char32_t low = four_hex_digits();
    if (low < 0xDC00 || low >= 0xE000) fail("half a character");
    code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code_point);
}

uint32_t JsonScanner::four_hex_digits() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    char c = at_ < text_.size() ? text_[at_] : '\0';
    char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (lower < 'a' || lower > 'f')) fail("four hexadecimal digits expected");
    value = value * 16 + static_cast<uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

uint64_t JsonScanner::whole_number(uint64_t max, std::string_view where) {
  char first = peek();
  auto refuse = [&] {
    fail(fmt::format("a whole number from 0 to {} expected in {}, found {}", max, where, found()));
  };
  if (!is_digit(first)) refuse();
  size_t start = at_;
  uint64_t value = 0;
  bool too_large = false;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    too_large |= __builtin_mul_overflow(value, uint64_t{10}, &value);
    too_large |= __builtin_add_overflow(value, uint64_t(text_[at_] - '0'), &value);
  }
  char after = at_ < text_.size() ? text_[at_] : '\0';
  bool padded = first == '0' && at_ - start > 1;
  if (too_large || value > max || padded || after == '.' || after == 'e' || after == 'E') {
    at_ = start;
    refuse();
  }
  return value;
}

// A number, true, false or null.
void JsonScanner::skip_word() {
  size_t end = std::min(text_.find_first_of(" \n\r\t,:]}", at_), text_.size());
  std::string_view word = text_.substr(at_, end - at_);
  if (word != "true" && word != "false" && word != "null") {
    double number = 0;
    bool numeric = !word.empty() && (is_digit(word[0]) || word[0] == '-');
    auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    bool valid = numeric && error != std::errc::invalid_argument && rest == word.end();
    if (!valid) fail(fmt::format("a value expected, found {}", found()));
  }
  at_ = end;
}

void JsonScanner::skip_value(size_t depth) {
  char first = peek();
  if (first == '"') {
    string("a value");
  } else if (first != '{' && first != '[') {
    skip_word();
  } else if (depth == max_json_depth) {
    fail(fmt::format("nested deeper than {} levels", max_json_depth));
  } else if (first == '{') {
    object("an object", [&](const std::string&) { skip_value(depth + 1); });
  } else {
    array("a list", [&] { skip_value(depth + 1); });
  }
}

void JsonScanner::finish() {
  if (peek(); at_ != text_.size()) fail(fmt::format("the end expected, found {}", found()));
}

}  // namespace omnirt::io
