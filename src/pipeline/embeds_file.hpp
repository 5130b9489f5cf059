#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt {

// What a prompt means, in a file of its own: a safetensors file with the tensors that diffusers'
// pipelines take under these names: prompt_embeds {n, T, D}, and as the model wants them
// negative_prompt_embeds, pooled_prompt_embeds {n, P}, negative_pooled_prompt_embeds.
struct EmbedsInfo {
  std::map<std::string, std::vector<int64_t>> shapes;  // by name

  int64_t prompts() const { return shapes.at("prompt_embeds").front(); }
};

// Embeddings as an input of a request.
struct GivenEmbeds {
  std::map<std::string, Tensor> tensors;  // fp32
};

// What is wrong with tensors of these shapes: other names, or sizes that do not fit each other; ""
// where nothing is.
std::string embeds_fault(const EmbedsInfo& info);

// Reads the header. Throws InvalidRequest (or InvalidFile) that names the file where it is none,
// has tensors of other names, or ones that differ in their numbers of prompts, tokens or channels.
EmbedsInfo probe_embeds(const std::filesystem::path& path);
// Also throws where a number is not finite.
// Of embeddings in memory, what probe_embeds says of a file. Throws as both do.
EmbedsInfo embeds_info(const GivenEmbeds& given);
GivenEmbeds read_embeds(const std::filesystem::path& path);

}  // namespace omnirt
