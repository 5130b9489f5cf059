#pragma once
#include "base/json.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

// The config.json of a text encoder that a checkpoint holds below `prefix`, inferred from names and
// shapes; heads of 64 channels, as all published ones have. Throws InvalidFile where a tensor that
// this needs is missing.

// In transformers' names ("clip"): OpenAI's activation.
Json clip_text_config(const TensorShapes& shapes, const std::string& prefix);

// In OpenCLIP's ("open_clip"). `penultimate`: the last layer is left out, as Stable Diffusion 2.x
// has it (its text embeddings are the states before it, normalised).
Json open_clip_text_config(const TensorShapes& shapes, const std::string& prefix, bool penultimate);

// OpenCLIP's in transformers' names ("clip", or "stacked_clip" as in stable-diffusion.cpp).
Json renamed_open_clip_text_config(const TensorShapes& shapes, const std::string& prefix,
                                   bool penultimate);

}  // namespace omnirt
