#include "base/python_json.hpp"

#include "base/error.hpp"

namespace omnirt {
namespace {

// The text with Python's names for the numbers that JSON lacks replaced by null, outside strings.
std::string with_nulls(std::string_view text) {
  std::string plain;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      plain += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      bool replaced = false;
      for (std::string_view name : {"-Infinity", "Infinity", "NaN"}) {
        if (!text.substr(i).starts_with(name)) continue;
        plain += "null";
        i += name.size() - 1;
        replaced = true;
        break;
      }
      if (replaced) continue;
    }
    plain += text[i];
  }
  return plain;
}

}  // namespace

Json parse_python_json(std::string_view text, const std::string& where, size_t max_bytes) {
  if (text.size() > max_bytes) return parse_json(text, where, max_bytes);  // refused by its size
  return parse_json(with_nulls(text), where, max_bytes);
}

}  // namespace omnirt
