#pragma once
#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// config.json of Siglip2VisionModel; defaults are those of transformers' Siglip2VisionConfig.
struct Siglip2VisionConfig {
  int64_t hidden_size = 768;
  int64_t intermediate_size = 3072;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t num_channels = 3;
  int64_t num_patches = 256;
  int64_t patch_size = 16;
  std::string hidden_act = "gelu_pytorch_tanh";
  double layer_norm_eps = 1e-6;

  static void visit(auto& self, auto& v) {
    v("hidden_size", self.hidden_size);
    v("intermediate_size", self.intermediate_size);
    v("num_hidden_layers", self.num_hidden_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("num_channels", self.num_channels);
    v("num_patches", self.num_patches);
    v("patch_size", self.patch_size);
    v("hidden_act", self.hidden_act);
    v("layer_norm_eps", self.layer_norm_eps);
    v.ignore({"vision_use_head"});  // which pools; no one here asks for it
    nn::ignore_transformers_notes(v);
  }

  // Of the square of position embeddings.
  int64_t grid_side() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Siglip2VisionConfig read_siglip2_vision_config(const Json& json, const std::string& where);

}  // namespace omnirt
