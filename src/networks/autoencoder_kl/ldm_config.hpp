#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

// The config.json of the autoencoder that a checkpoint in the ldm layout holds below `prefix`,
// inferred from names and shapes; the scaling factor and the sample size are the model's, and not
// set. Throws InvalidFile where a tensor that this needs is missing, Unsupported where the rule
// does not fit.
Json ldm_autoencoder_config(const TensorShapes& shapes, const std::string& prefix);

// The same for a file of an autoencoder only, in the ldm layout or in diffusers' names; null for
// files of other networks.
Json autoencoder_kl_config_alone(const std::map<std::string, std::vector<int64_t>>& all,
                                 const std::string& where);
// The layout that such a file is in: "ldm", or "" for diffusers' names.
std::string autoencoder_kl_layout_of(const std::map<std::string, std::vector<int64_t>>& all);

}  // namespace omnirt
