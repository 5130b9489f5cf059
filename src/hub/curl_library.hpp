#pragma once
#include <curl/curl.h>

namespace omnirt::hub {

// libcurl, loaded when something is downloaded or sent first: it brings thirty other libraries
// along, which would cost every start of the program. The members are the functions that are used,
// by their own names.
struct CurlLibrary {
  decltype(&::curl_easy_init) curl_easy_init;
  decltype(&::curl_easy_setopt) curl_easy_setopt;
  decltype(&::curl_easy_perform) curl_easy_perform;
  decltype(&::curl_easy_getinfo) curl_easy_getinfo;
  decltype(&::curl_easy_strerror) curl_easy_strerror;
  decltype(&::curl_easy_cleanup) curl_easy_cleanup;
  decltype(&::curl_slist_append) curl_slist_append;
  decltype(&::curl_slist_free_all) curl_slist_free_all;
};

// Throws Unsupported, saying what to install, where it is missing.
const CurlLibrary& curl_library();

}  // namespace omnirt::hub
