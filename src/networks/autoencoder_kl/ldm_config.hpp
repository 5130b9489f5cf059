#pragma once
#include "base/json.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

// The config.json of the autoencoder that a checkpoint in the ldm layout holds below `prefix`,
// inferred from names and shapes; the scaling factor and the sample size are the model's, and not
// set. Throws InvalidFile where a tensor that this needs is missing, Unsupported where the rule
// does not fit.
Json ldm_autoencoder_config(const TensorShapes& shapes, const std::string& prefix);

}  // namespace omnirt
