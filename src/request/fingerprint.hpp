#pragma once
#include <filesystem>
#include <string>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// Identifies one component's files: a digest over its class, its config and its weight files (a
// tokenizer's: all its small files). Of a large file it takes the size, the beginning with the
// header and pieces from all over, so that a checkpoint of gigabytes is known in moments.
// "" where the files are not there.
std::string fingerprint_of(const Catalogue& catalogue, const ComponentFolder& component);
// The same of one file.
std::string fingerprint_of_file(const std::filesystem::path& file);

}  // namespace omnirt
