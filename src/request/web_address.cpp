#include "request/web_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"

namespace omnirt {
namespace {

bool in_scheme(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
}

// "owner/name" of https://huggingface.co/owner/name/...; "" where it is none of these.
std::string hub_repository(std::string_view url) {
  for (std::string_view host : {"https://huggingface.co/", "https://hf.co/", "hf://"}) {
    if (!url.starts_with(host)) continue;
    std::string_view rest = url.substr(host.size());
    rest = rest.substr(0, rest.find_first_of("?#"));
    size_t owner = rest.find('/');
    if (owner == 0 || owner == rest.npos) return "";
    size_t end = std::min(rest.find('/', owner + 1), rest.size());
    return end == owner + 1 ? "" : std::string(rest.substr(0, end));
  }
  return "";
}

}  // namespace

bool is_url(std::string_view text) {
  if (text.starts_with("data:")) return true;
  size_t end = text.find("://");
  return end != text.npos && end > 0 && std::ranges::all_of(text.substr(0, end), in_scheme);
}

void refuse_url(const std::string& field, const std::string& given) {
  if (!is_url(given)) return;
  std::string repository = hub_repository(given);
  std::string way_out =
      repository.empty()
          ? "download it first, and give the file"
          : fmt::format("download it first (omnirt pull {}), and give the file, or {} for a model",
                        repository, repository);
  throw InvalidRequest({field, given, "a URL, and nothing is read from the network", way_out});
}

}  // namespace omnirt
