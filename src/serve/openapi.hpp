#pragma once
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/keys.hpp"
#include "serve/routes.hpp"

namespace omnirt::serve {

// What /openapi.json is derived from.
struct OpenApiFacts {
  std::vector<RouteInfo> routes{};
  std::vector<const KeyInfo*> keys{};  // of requests' configs
  std::vector<std::string> models{};   // that requests may name
  std::set<std::string> inputs{};      // that these models take
  bool keyed = false;                  // the server has keys
};

// The document (OpenAPI 3.1): a path for each route, with its parameters, bodies, answers, and the
// refusals that it may be answered with.
Json openapi_document(const OpenApiFacts& facts);

// Schemas by name: of answers, which do not depend on the models; and of what is sent.
Json openapi_answers();
Json openapi_requests(const OpenApiFacts& facts);
// What a config key's values may be; null counts as not given.
Json openapi_of_key(const KeyInfo& key);

}  // namespace omnirt::serve
