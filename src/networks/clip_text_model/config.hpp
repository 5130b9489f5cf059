#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/config.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// config.json of CLIPTextModel; defaults are those of transformers' CLIPTextConfig.
struct CLIPTextConfig {
  int64_t vocab_size = 49408;
  int64_t hidden_size = 512;
  int64_t intermediate_size = 2048;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 8;
  int64_t max_position_embeddings = 77;
  std::string hidden_act = "quick_gelu";
  double layer_norm_eps = 1e-5;
  std::optional<int64_t> eos_token_id = 49407;
  int64_t projection_dim = 512;  // of CLIPTextModelWithProjection

  static void visit(auto& self, auto& v) {
    v("vocab_size", self.vocab_size);
    v("hidden_size", self.hidden_size);
    v("intermediate_size", self.intermediate_size);
    v("num_hidden_layers", self.num_hidden_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("max_position_embeddings", self.max_position_embeddings);
    v("hidden_act", self.hidden_act);
    v("layer_norm_eps", self.layer_norm_eps);
    v("eos_token_id", self.eos_token_id);
    v("projection_dim", self.projection_dim);
    // Pipelines would mask padding tokens where this is set.
    v.only("use_attention_mask", {false});
    nn::ignore_transformers_notes(v);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
CLIPTextConfig read_clip_text_config(const Json& json, const std::string& where);

}  // namespace omnirt
