#include "hub/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "base/error.hpp"
#include "hub/proxy.hpp"
#include "io/file.hpp"

namespace omnirt::hub {
namespace fs = std::filesystem;
namespace {

constexpr const char* public_endpoint = "https://huggingface.co";
constexpr size_t max_token_bytes = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// As huggingface_hub reads its switches.
bool is_on(const char* name) {
  std::string value = variable(name);
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::toupper(c); });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

fs::path home_folder() {
  if (std::string home = variable("HF_HOME"); !home.empty()) return home;
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "huggingface";
  std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "huggingface";
}

std::string trimmed(std::string text) {
  auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && space(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, space));
  return text;
}

std::string token_of_environment() {
  if (std::string token = trimmed(variable("HF_TOKEN")); !token.empty()) return token;
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return "";
  std::string given = variable("HF_TOKEN_PATH");
  fs::path file = given.empty() ? home_folder() / "token" : fs::path(given);
  std::error_code error;
  return fs::is_regular_file(file, error) ? trimmed(io::read_file(file, max_token_bytes)) : "";
}

bool is_loopback(const std::string& host) {
  constexpr std::array names{"localhost", "127.0.0.1", "[::1]"};
  return std::ranges::any_of(names, [&](const char* name) {
    return host == name || host.starts_with(std::string(name) + ":");
  });
}

void check_endpoint(const std::string& endpoint) {
  auto printable = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  bool address = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  if (address && std::ranges::all_of(endpoint, printable) && !host_of(endpoint).empty() &&
      host_of(endpoint).find('@') == std::string::npos)
    return;
  throw InvalidRequest({"HF_ENDPOINT", endpoint, "not an address of a hub",
                        fmt::format("give https://HOST, or unset it for {}", public_endpoint)});
}

void check_token(const Settings& settings) {
  auto printable = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  if (!std::ranges::all_of(settings.token, printable))
    throw InvalidRequest({"HF_TOKEN", "", "the token holds characters that no token has",
                          "take it from the hub's settings again, or unset it"});
  if (!settings.token.empty() && settings.endpoint.starts_with("http://") &&
      !is_loopback(host_of(settings.endpoint)))
    throw InvalidRequest({"HF_ENDPOINT", settings.endpoint,
                          "the token (HF_TOKEN) would travel to it unencrypted",
                          "use https, or set HF_HUB_DISABLE_IMPLICIT_TOKEN=1 and no HF_TOKEN"});
}

}  // namespace

void check_cache_folder(const fs::path& cache) {
  const char* given = variable("HF_HUB_CACHE").empty() ? "HF_HOME" : "HF_HUB_CACHE";
  if (cache.empty())
    throw InvalidRequest(
        {"HF_HOME", "", "there is no folder to keep downloads in", "set HF_HOME, or HOME"});
  std::error_code error;
  const fs::file_status status = fs::status(cache, error);
  if (status.type() == fs::file_type::not_found || fs::is_directory(status)) return;
  throw InvalidRequest({given, cache.string(),
                        fs::exists(status) ? "a file, where the folder of downloads is expected"
                                           : "the folder cannot be read: " + error.message(),
                        "name a folder, or unset it for ~/.cache/huggingface"});
}

fs::path cache_folder() {
  if (std::string cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  fs::path home = home_folder();
  return home.empty() ? home : home / "hub";
}

Settings Settings::of_environment() {
  Settings settings;
  settings.endpoint = variable("HF_ENDPOINT");
  if (settings.endpoint.empty()) settings.endpoint = public_endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  check_endpoint(settings.endpoint);
  settings.token = token_of_environment();
  check_token(settings);
  settings.cache = cache_folder();
  check_cache_folder(settings.cache);
  settings.offline = is_on("HF_HUB_OFFLINE");
  return settings;
}

}  // namespace omnirt::hub
