#include "io/output_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace omnirt::io {
namespace {

constexpr std::array known{"{index}", "{seed}", "{model}", "{run}"};

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string index_of(const OutputPart& part) {
  const size_t digits = std::to_string(part.count == 0 ? 0 : part.count - 1).size();
  return fmt::format("{:0{}}", part.index, digits);
}

}  // namespace

std::filesystem::path output_name(const std::string& pattern, const OutputPart& part) {
  std::string text = pattern;
  const bool apart =
      text.find(known[0]) != text.npos || (part.per_seed == 1 && text.find(known[1]) != text.npos);
  if (part.count > 1 && !apart) {
    std::filesystem::path path = text;
    path.replace_filename(path.stem().string() + "_{index}" + path.extension().string());
    text = path.native();
  }
  replace_all(text, known[0], index_of(part));
  replace_all(text, known[1], std::to_string(part.seed));
  replace_all(text, known[2], part.model);
  replace_all(text, known[3], part.run);
  return text;
}

std::optional<std::string> unknown_part(const std::string& pattern) {
  for (size_t open = 0; (open = pattern.find('{', open)) != pattern.npos; ++open) {
    const size_t close = pattern.find('}', open);
    if (close == pattern.npos) return std::nullopt;
    std::string word = pattern.substr(open, close + 1 - open);
    if (std::ranges::find(known, word) == known.end()) return word;
  }
  return std::nullopt;
}

}  // namespace omnirt::io
