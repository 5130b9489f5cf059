#pragma once
#include <optional>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// A component that is published as one file (safetensors or GGUF) without a config: its class and
// config are inferred from the names and shapes of its tensors, by the classes of the catalogue
// that are published so (nn::FromTensors), and `folder` is the file itself. Nothing where `path` is
// no file. Throws InvalidRequest or Unsupported for a file that holds no such component, naming
// components.<name>.
std::optional<ComponentFolder> read_component_file(const Catalogue& catalogue,
                                                   const std::string& name,
                                                   const std::filesystem::path& path);

}  // namespace omnirt
