#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// Config keys that are paths, or go with one: none of them is served.
const std::set<std::string>& refused_config_keys();
// Keys that take these names here, and elsewhere paths or files of a network, too.
const std::map<std::string, std::set<std::string>>& served_choices();

// A finding for everything in the request that is, or could be read as, a path of this machine:
// keys that are paths, texts with a slash where a name is expected, adapters in prompts.
void refuse_paths(const GenerateRequest& request, std::vector<Finding>& findings);

// Finds what the names of the model, the adapters and the components mean here: the request's
// locations and its `model`. A finding for each other name.
void settle_names(ServedRequest& served, const ServedModels& models,
                  std::vector<Finding>& findings);

// Of the adapters in the server's folders, in order, without their extension.
std::vector<std::string> served_lora_names(const ServedModels& models);

}  // namespace omnirt::serve
