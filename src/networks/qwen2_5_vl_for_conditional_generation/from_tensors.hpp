#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// The names of llama.cpp's GGUF files of the language model (gguf 0.19, gguf/constants.py:
// MODEL_TENSOR of qwen2vl); the vision tower is a file of its own there.
nn::OriginalLayout qwen2_5_vl_llama_layout();
// Which layout names of these shapes are in: "llama.cpp", or "" for the network's own.
std::string qwen2_5_vl_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes);

// The config.json of a Qwen2.5-VL that is published as one file, as inferred from names and shapes;
// what they do not say is what all released ones have. Null for files of other classes.
Json qwen2_5_vl_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& shapes,
                                    const std::string& where);

}  // namespace omnirt
