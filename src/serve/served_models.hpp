#pragma once
#include <string>
#include <vector>

#include "engine/session.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// What "ID", "NAME=ID" and "NAME=FOLDER" name; without any all models whose files are here. Throws
// UnknownModel, InvalidRequest.
ServedModels find_served_models(const Session& session, const std::vector<std::string>& names,
                                const std::vector<std::string>& lora_folders);

// The name of each model by its folder or file, for PathNames.
std::map<std::filesystem::path, std::string> names_of_folders(const Session& session,
                                                              const ServedModels& models);

}  // namespace omnirt::serve
