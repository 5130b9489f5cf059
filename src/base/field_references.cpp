#include "base/field_references.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace omnirt {
namespace {

constexpr auto places =
    std::to_array<std::string_view>({"config", "inputs", "components", "guider", "adapters"});

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Where a name that begins at `at` ends: letters, and dots between them.
size_t end_of_name(std::string_view text, size_t at) {
  while (at < text.size()) {
    const bool dot = text[at] == '.' && at + 1 < text.size() && is_of_name(text[at + 1]);
    if (!dot && !is_of_name(text[at])) break;
    ++at;
  }
  return at;
}

// Where a value ends: at a space or the end of a clause, outside of brackets.
size_t end_of_value(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ' ' || c == ',' || c == ';' || c == ')' || c == '?')) break;
    if (c == '}' || c == ']') --depth;
  }
  return at;
}

std::optional<FieldReference> reference_at(std::string_view text, size_t at) {
  for (std::string_view place : places) {
    const size_t name = at + place.size() + 1;
    if (!text.substr(at).starts_with(place) || name >= text.size() || text[name - 1] != '.' ||
        !is_of_name(text[name]))
      continue;
    FieldReference found{.begin = at, .end = end_of_name(text, name), .place = "", .name = ""};
    found.place = place;
    found.name = text.substr(name, found.end - name);
    if (found.end + 1 < text.size() && text[found.end] == '=' && text[found.end + 1] != '=') {
      const size_t value = found.end + 1;
      found.end = end_of_value(text, value);
      found.value = text.substr(value, found.end - value);
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FieldReference> field_references(std::string_view text) {
  std::vector<FieldReference> found;
  for (size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || (!is_of_name(text[at - 1]) && text[at - 1] != '.' &&
                                    text[at - 1] != '/' && text[at - 1] != '-');
    auto reference = begins ? reference_at(text, at) : std::nullopt;
    at = reference ? reference->end : at + 1;
    if (reference) found.push_back(std::move(*reference));
  }
  return found;
}

}  // namespace omnirt
