#include "serve/page.hpp"

#include <page_files.hpp>

#include <string_view>
#include <utility>

namespace omnirt::serve {
namespace {

constexpr std::string_view folder = "/page/";

const char* type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/javascript; charset=utf-8";
}

}  // namespace

std::optional<HttpResponse> page_of(const std::string& path) {
  if (path != "/" && !path.starts_with(folder)) return std::nullopt;
  const std::string_view name =
      path == "/" ? "index.html" : std::string_view(path).substr(folder.size());
  for (const auto& [file, content] : embedded_files) {
    if (file != name) continue;
    HttpResponse response{.type = type_of(name), .body = std::string(content)};
    // The page asks this server alone, and no other page shows it in a frame.
    response.headers = {{"Content-Security-Policy",
                         "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; "
                         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cache-Control", "no-cache"}};
    return response;
  }
  return std::nullopt;
}

}  // namespace omnirt::serve
