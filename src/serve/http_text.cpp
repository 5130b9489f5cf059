// The parts of HTTP that are texts.
#include <sys/random.h>

#include <array>

#include "base/error.hpp"
#include "serve/http.hpp"

namespace omnirt::serve {
namespace {

int hex_digit(char each) {
  if (each >= '0' && each <= '9') return each - '0';
  if (each >= 'a' && each <= 'f') return each - 'a' + 10;
  if (each >= 'A' && each <= 'F') return each - 'A' + 10;
  return -1;
}

}  // namespace

BodyFile::~BodyFile() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (gone) gone();
}

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string none;
  auto it = headers.find(name);
  return it == headers.end() ? none : it->second;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

std::string url_decoded(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      made += static_cast<char>(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
      i += 2;
    } else {
      made += text[i] == '+' ? ' ' : text[i];
    }
  }
  return made;
}

std::map<std::string, std::string> query_of(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    const size_t equals = pair.find('=');
    if (!pair.empty()) {
      query[url_decoded(pair.substr(0, equals))] =
          equals == std::string_view::npos ? "" : url_decoded(pair.substr(equals + 1));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return query;
}

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw RunFailed("the system has no random numbers");
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace omnirt::serve
