#pragma once
#include <string>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// What a network class says of itself with its default config, or what each network of a pipeline
// folder, a component's folder or a checkpoint of one file says with its own:
// [{component, class, metadata: [{key, value, what}], text}]. Throws InvalidRequest, Unsupported.
Json describe_networks(const Catalogue& catalogue, const std::string& class_or_path);

}  // namespace omnirt
