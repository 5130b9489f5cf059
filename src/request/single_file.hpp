#pragma once
#include <filesystem>
#include <string>

#include "weights/single_file_kind.hpp"

namespace omnirt {

struct Catalogue;

// A single file opened as a folder is: components with configs in memory, each with its `original`.
struct SingleFile : SingleFileReport {
  PipelineFolder folder;
};

// Reads headers only. `config_folder`: a pipeline folder whose configs and tokenizers count in
// place of what is inferred from names and shapes. `prediction_type`: over what the file says. Both
// may be empty. Throws Unsupported with what the file was recognised as where it is no model of
// this build's.
SingleFile open_single_file(const Catalogue& catalogue, const std::filesystem::path& path,
                            const std::filesystem::path& config_folder = {},
                            const std::string& prediction_type = "");

}  // namespace omnirt
