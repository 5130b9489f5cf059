#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omnirt::text {

void replace_all(std::string& text, std::string_view from, std::string_view to);

// What compel's prompts are made of. Each function reads at a place of the text, after the white
// space there, and returns what it read with the place after it; nothing where there is something
// else.
class CompelText {
 public:
  // Both views outlive this.
  CompelText(std::string_view text, std::string_view field) : text_(text), field_(field) {}

  bool ends(size_t at) const { return at == text_.size(); }
  bool has_space(size_t at) const { return behind_space(at) != at; }
  size_t behind_space(size_t at) const;
  std::string_view between(size_t begin, size_t end) const {
    return text_.substr(begin, end - begin);
  }
  std::string_view field() const { return field_; }
  // Throws InvalidRequest, quoting the text from `at` on.
  [[noreturn]] void refuse(size_t at, const std::string& message, const std::string& fix) const;

  std::optional<size_t> literal(size_t at, std::string_view text) const;
  std::optional<std::pair<double, size_t>> number(size_t at) const;
  // A run of + or of -: a weight of 1.1 or 0.9 each.
  std::optional<std::pair<double, size_t>> signs(size_t at) const;
  std::optional<std::pair<std::string, size_t>> keyword(size_t at) const;
  // What an operator is given, by commas: weights, flags, and the names of name=value.
  std::vector<std::string> options(size_t& at) const;
  // Without what has a meaning of its own, except what follows a backslash.
  std::optional<std::pair<std::string_view, size_t>> word(size_t at) const;
  // All up to the next white space.
  std::pair<std::string_view, size_t> free_word(size_t at) const;
  // What is between quotes, with its own \" as ".
  std::optional<std::pair<std::string, size_t>> quotation(size_t at) const;

 private:
  std::optional<std::pair<std::string, size_t>> option(size_t at) const;
  bool continues_word(size_t at) const;

  std::string_view text_, field_;
};

}  // namespace omnirt::text
