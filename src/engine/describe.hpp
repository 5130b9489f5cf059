#pragma once
#include <set>
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// Every config key that any block or run has, each once, in order of first declaration.
std::vector<const KeyInfo*> all_keys(const Catalogue& catalogue);
// Of those, the ones that some registry entry has a default of its own for, by name.
std::set<std::string> model_defaults(const Catalogue& catalogue);
// All registry entries: what they say, and what their blocks declare.
Json describe_models(const Catalogue& catalogue);
// Each backend of the catalogue: whether it can be used here, the reason, and what it can do. The
// one that `auto` takes is marked.
Json describe_backends(const Catalogue& catalogue);
// The entries of one id, with its workflows block by block. Throws UnknownModel.
Json describe_model(const Catalogue& catalogue, const std::string& id);

}  // namespace omnirt
