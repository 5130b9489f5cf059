#pragma once
#include <map>
#include <string>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// docs/reference, made from the registry and the declarations: {"models.md": text, ...}. The same
// for the same build wherever it runs.
std::map<std::string, std::string> reference_pages(const Catalogue& catalogue);

}  // namespace omnirt
