#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt {

// All that this build holds: families, networks and backends, a line each. Adding a model adds
// files and edits only catalogue.cpp.
Catalogue builtin_catalogue();

}  // namespace omnirt
