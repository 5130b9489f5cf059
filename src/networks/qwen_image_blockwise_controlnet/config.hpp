#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// The arguments of DiffSynth-Studio's QwenImageBlockWiseControlNet, whose files have no config;
// defaults are those of the class.
struct QwenImageBlockwiseControlNetConfig {
  int64_t num_layers = 60;
  int64_t in_dim = 64;            // of a token of the control image's latents
  int64_t additional_in_dim = 0;  // of what else a token has: for inpainting, where it is kept
  int64_t dim = 3072;             // of the transformer's tokens

  static void visit(auto& self, auto& v) {
    v("num_layers", self.num_layers);
    v("in_dim", self.in_dim);
    v("additional_in_dim", self.additional_in_dim);
    v("dim", self.dim);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
QwenImageBlockwiseControlNetConfig read_qwen_image_blockwise_config(const Json& json,
                                                                    const std::string& where);

// The config that a file's names and shapes have; null for files of other classes. An autoencoder's
// latents have an even number of channels: of an odd one, the last is the mask's.
Json qwen_image_blockwise_config_from_tensors(
    const std::map<std::string, std::vector<int64_t>>& shapes, const std::string& where);

}  // namespace omnirt
