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

// Folders whose names are this machine's business.
std::vector<std::filesystem::path> hidden_folders(const ServedModels& models,
                                                  const std::filesystem::path& state);

}  // namespace omnirt::serve
