#pragma once
#include <string>

namespace omnirt::cli {

// "omnirt 0.1.0 (1a2b3c4), libtorch 2.13.0"; without the commit where the build does not know it.
std::string version_text();

}  // namespace omnirt::cli
