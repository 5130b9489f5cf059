#pragma once
#include <optional>

#include "weights/pipeline_folder.hpp"

namespace omnirt {

// A component that is published as one safetensors file without a config (an IP-Adapter): its class
// and config are told from the names and shapes of its tensors, and `folder` is the file itself.
// Nothing where `path` is no file. Throws InvalidRequest or Unsupported for a file that holds no
// such component, naming components.<name>.
std::optional<ComponentFolder> read_component_file(const std::string& name,
                                                   const std::filesystem::path& path);

}  // namespace omnirt
