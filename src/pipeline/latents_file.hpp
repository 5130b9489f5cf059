#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// Latents in a file of their own, from one run to another: a safetensors file with one tensor
// "latents" {n, C, h, w}, of videos {n, F, C, h, w}, as a denoiser's scheduler has them between two
// steps, or noise for it to start from; and in its metadata under "latents" a JSON object that says
// which run they are from.
struct LatentsInfo {
  std::vector<int64_t> shape;    // {n, C, h, w} or {n, F, C, h, w}
  Json origin = Json::object();  // {model, denoising_end, ...}; empty where the file does not say
};

// Latents as an input of a request.
struct GivenLatents {
  Tensor values;  // fp32
};

// Reads the header. Throws InvalidRequest (or InvalidFile) that names the file when it is none, has
// no such tensor, or one of a shape or type that latents do not have.
LatentsInfo probe_latents(const std::filesystem::path& path);
GivenLatents read_latents(const std::filesystem::path& path);
// Of latents in memory, what probe_latents says of a file. Throws as it does.
LatentsInfo latents_info(const GivenLatents& given);
void write_latents(const std::filesystem::path& path, const Tensor& latents, const Json& origin);

}  // namespace omnirt
