#include "text/prompt_text.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/tokenizer.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {

void check_prompt(std::string_view text, std::string_view field) {
  if (text.size() > max_prompt_bytes) {
    throw InvalidRequest(Finding{std::string(field), fmt::format("{} bytes", text.size()),
                                 fmt::format("longer than the limit of {} bytes", max_prompt_bytes),
                                 "shorten it"});
  }
  size_t wrong = io::find_invalid_utf8(text);
  if (wrong != text.npos) {
    throw InvalidRequest(Finding{
        std::string(field), fmt::format("0x{:02X}", static_cast<unsigned char>(text[wrong])),
        fmt::format("not UTF-8 at byte {}", wrong), "give the text as UTF-8"});
  }
}

std::string_view without_space(std::string_view text) {
  auto is_space = [](std::string_view part) {
    size_t pos = 0;
    return char_class(next_codepoint(part, pos)) == CharClass::space ? pos : 0;
  };
  while (!text.empty()) {
    size_t size = is_space(text);
    if (size == 0) break;
    text.remove_prefix(size);
  }
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (is_space(text.substr(last)) == 0) break;
    text = text.substr(0, last);
  }
  return text;
}

}  // namespace omnirt::text
