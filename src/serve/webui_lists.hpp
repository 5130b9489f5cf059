#pragma once
#include <span>

#include "base/json.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

inline constexpr std::string_view webui_prefix = "/sdapi/v1/";

// A list of names that stable-diffusion-webui's clients ask for: GET /sdapi/v1/{name}.
struct WebuiListInfo {
  const char* name;
  const char* schema;  // of serve/openapi
  const char* summary;
  Json (*make)(const ServedModels& models);
};
std::span<const WebuiListInfo> webui_lists();

}  // namespace omnirt::serve
