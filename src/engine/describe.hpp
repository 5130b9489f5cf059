#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// Every config key that any block or run has, each once, in order of first declaration.
std::vector<const KeyInfo*> all_keys(const Catalogue& catalogue);
// All registry entries: what they say, and what their blocks declare.
Json describe_models(const Catalogue& catalogue);
// Each backend of the catalogue: whether it can be used here, the reason, and what it can do. The
// one that `auto` takes is marked.
Json describe_backends(const Catalogue& catalogue);
// The entries of one model, with its workflows block by block: an id, a folder or a file of
// weights, a name that models are found by, or "" the default one. Throws UnknownModel,
// Unsupported, InvalidFile.
Json describe_model(const Catalogue& catalogue, const std::string& model);

}  // namespace omnirt
