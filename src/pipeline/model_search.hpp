#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace omnirt {

// Where models are looked for by id, in order: the folders of OMNIRT_MODELS (separated by ':'),
// `models` beside or above the program, `share/omnirt/models` above it.
std::vector<std::filesystem::path> model_folders();

// The pipeline folder of `id` in one of those or in the Hugging Face cache (by `hub_ids` or by `id`
// itself); empty when there is none.
std::filesystem::path find_model(const std::string& id, const std::vector<std::string>& hub_ids);

// Whether a request's `model` is meant as a path: it exists, or is written as one.
bool looks_like_path(const std::string& model);

}  // namespace omnirt
