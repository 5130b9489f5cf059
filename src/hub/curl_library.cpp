#include "hub/curl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "base/error.hpp"

// setopt and getinfo are macros over themselves, which check the types of their arguments.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace omnirt::hub {
namespace {

constexpr const char* file = "libcurl.so.4";

template <class Function>
void take(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw RunFailed(fmt::format("{} has no {}", file, name));
}

// Closed never: it keeps state of its own until the process ends.
CurlLibrary load() {
  void* from = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!from)
    throw Unsupported(Finding{"libcurl", "",
                              fmt::format("{} cannot be loaded: {}", file, dlerror()),
                              "install libcurl (Debian: libcurl4)"});
  decltype(&::curl_global_init) curl_global_init = nullptr;
  take(from, "curl_global_init", curl_global_init);
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    throw RunFailed(fmt::format("{} cannot be set up", file));
  CurlLibrary curl{};
  take(from, "curl_easy_init", curl.curl_easy_init);
  take(from, "curl_easy_setopt", curl.curl_easy_setopt);
  take(from, "curl_easy_perform", curl.curl_easy_perform);
  take(from, "curl_easy_getinfo", curl.curl_easy_getinfo);
  take(from, "curl_easy_strerror", curl.curl_easy_strerror);
  take(from, "curl_easy_cleanup", curl.curl_easy_cleanup);
  take(from, "curl_slist_append", curl.curl_slist_append);
  take(from, "curl_slist_free_all", curl.curl_slist_free_all);
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary loaded = load();
  return loaded;
}

}  // namespace omnirt::hub
