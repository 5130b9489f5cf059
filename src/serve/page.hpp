#pragma once
#include <optional>
#include <string>

#include "serve/http.hpp"

namespace omnirt::serve {

// The web page's files, which are part of the program: "/" and "/page/NAME". Nothing of other
// paths.
std::optional<HttpResponse> page_of(const std::string& path);

}  // namespace omnirt::serve
