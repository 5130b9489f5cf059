#include "io/image_text.hpp"

#include <algorithm>

#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_key_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

}  // namespace

std::string utf8_from_latin1(std::string_view text) {
  std::string result;
  for (char c : text) append_utf8(result, static_cast<unsigned char>(c));
  return result;
}

bool is_metadata_key(std::string_view key) {
  return !key.empty() && key.size() <= 79 && is_letter(key.front()) &&
         std::all_of(key.begin(), key.end(), is_key_character);
}

}  // namespace omnirt::io
