#pragma once
#include <optional>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// What the model says of the component that a file is given for.
struct WantedComponent {
  std::string class_name{};  // as its index names it; "": it does not
  // The config of the model's own component; of a missing one, the values that a file of it does
  // not say.
  Json config{};
};

// A component that is published as one file (safetensors or GGUF) without a config. Its class and
// config are, in this order: those in the file's metadata, if this program wrote it; those of the
// config.json in its folder; those of the component that the model has; else they are inferred from
// the names and shapes of its tensors, by the classes of the catalogue that are published so
// (nn::FromTensors). The first that fit the tensors count. `folder` is the file itself. Returns
// nullopt where `path` is no file. Throws InvalidRequest or Unsupported for a file that holds no
// such component, naming components.<name>.
std::optional<ComponentFolder> read_component_file(const Catalogue& catalogue,
                                                   const std::string& name,
                                                   const std::filesystem::path& path,
                                                   const WantedComponent& wanted = {});

}  // namespace omnirt
