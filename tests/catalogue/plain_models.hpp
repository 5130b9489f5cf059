#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/json.hpp"
#include "io/safetensors_writer.hpp"
#include "tensor/tensor.hpp"

// Small models of the sizes that names and shapes can show (groups of 32 channels, heads of 64),
// made when a test asks for them: a folder as diffusers saves it, and the same weights as other
// programs name them in one file. Their weights are whole 64ths, so that each of fp32, fp16, bf16
// and fp8 holds them exactly.
namespace omnirt::testing {

using NamedTensors = std::map<std::string, Tensor>;

struct PlainModel {
  std::filesystem::path folder;
  NamedTensors file;  // in the original's names, all components
};

// "sd1", "sd1_inpaint", "sd2", "sdxl", "sdxl_refiner", "ssd1b", "sd3", "flux". Made once.
const PlainModel& plain_model(const std::string& kind);

void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const io::FileMetadata& metadata = {});
// As other programs do: fp32 or fp16 as they are, no key but the architecture.
void save_gguf(const std::filesystem::path& path, const NamedTensors& tensors);

// Those that begin with `prefix`, and the same names with another beginning.
NamedTensors with_prefix(const NamedTensors& tensors, const std::string& prefix,
                         const std::string& instead);
NamedTensors without_prefix(NamedTensors tensors, const std::string& prefix);

}  // namespace omnirt::testing
