#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// The names of llama.cpp's GGUF files (gguf 0.19, gguf/constants.py: MODEL_TENSOR).
nn::OriginalLayout t5_llama_layout();
// transformers' own names, below a prefix in files that hold more than the encoder.
nn::OriginalLayout t5_transformers_layout();
// Which layout names of these shapes are in: "llama.cpp", or "" for the network's own.
std::string t5_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes);

// The config.json of a T5 encoder that is published as one file, as inferred from names and shapes;
// null for files of other classes.
Json t5_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& shapes,
                            const std::string& where);

}  // namespace omnirt
