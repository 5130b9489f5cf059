#pragma once
#include <filesystem>
#include <string>

namespace omnirt {

// A path of this tree: source_path("models/emoji"); of "", the tree. Below tests/goldens it is
// where the build expands what git holds packed.
std::filesystem::path source_path(const std::string& relative);

// The same below tests/goldens: golden_path("pipelines/sd15/model").
std::filesystem::path golden_path(const std::string& relative);

}  // namespace omnirt
