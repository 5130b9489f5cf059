#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// The names of llama.cpp's GGUF files of the language model (gguf 0.19, gguf/constants.py:
// MODEL_TENSOR of llama), where values that turn together are side by side (convert_hf_to_gguf.py,
// LlamaModel.permute).
nn::OriginalLayout mistral3_llama_layout(const nn::TextDecoderOptions& options);
// Which layout names of these shapes are in: "llama.cpp", or "" for the network's own.
std::string mistral3_layout_of(const std::map<std::string, std::vector<int64_t>>& shapes);

// The config.json of a Mistral 3 whose language model is published as one file, as inferred from
// names and shapes; what they do not say is what Mistral Small 3 has. Null for files of other
// classes.
Json mistral3_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& shapes,
                                  const std::string& where);

}  // namespace omnirt
