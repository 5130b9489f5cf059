#include "cli/flag_text.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/utf8.hpp"

namespace omnirt::cli {

const std::string& checked_text(const std::string& field, const std::string& text) {
  size_t bad = io::find_invalid_utf8(text);
  if (bad == std::string::npos) return text;
  throw InvalidRequest(
      {field, "", fmt::format("not UTF-8 at byte {}", bad), "set the terminal to UTF-8"});
}

std::pair<std::string, std::string> pair_flag(const std::string& flag, const std::string& text,
                                              const std::string& example) {
  size_t equals = checked_text(flag, text).find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InvalidRequest(
        {"--" + flag, text, "name=value is expected", fmt::format("as in --{} {}", flag, example)});
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace omnirt::cli
