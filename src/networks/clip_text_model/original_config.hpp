#pragma once
#include <map>
#include <string>
#include <vector>

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

// The same for a file of a text encoder only, in any of these names; null for files of other
// networks. The class is CLIPTextModel: where a model takes the projection, its index says so.
Json clip_text_config_alone(const std::map<std::string, std::vector<int64_t>>& all,
                            const std::string& where);
// The layout that such a file is in: "open_clip", "stacked_clip", or "" for transformers' names.
std::string clip_text_layout_of(const std::map<std::string, std::vector<int64_t>>& all);

}  // namespace omnirt
