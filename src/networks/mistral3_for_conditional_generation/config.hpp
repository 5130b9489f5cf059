#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// "text_config" of Mistral3ForConditionalGeneration's config.json; defaults are those of
// transformers' MistralConfig, with which it reads one.
struct Mistral3TextConfig {
  int64_t vocab_size = 32000;
  int64_t hidden_size = 4096;
  int64_t intermediate_size = 14336;
  int64_t num_hidden_layers = 32;
  int64_t num_attention_heads = 32;
  std::optional<int64_t> num_key_value_heads = 8;  // null: as many as heads
  std::optional<int64_t> head_dim;                 // null: hidden_size / num_attention_heads
  std::string hidden_act = "silu";
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;  // also in rope_parameters, which transformers 5 writes
  std::optional<int64_t> sliding_window = 4096;  // null: each token sees all those before it
  std::vector<std::string> layer_types;
  bool final_norm = true;  // a note of this program's own: files of the first layers have no norm

  static void visit(auto& self, auto& v) {
    v("vocab_size", self.vocab_size);
    v("hidden_size", self.hidden_size);
    v("intermediate_size", self.intermediate_size);
    v("num_hidden_layers", self.num_hidden_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("num_key_value_heads", self.num_key_value_heads);
    v("head_dim", self.head_dim);
    v("hidden_act", self.hidden_act);
    v("rms_norm_eps", self.rms_norm_eps);
    v("rope_theta", self.rope_theta);
    v("sliding_window", self.sliding_window);
    v("layer_types", self.layer_types);
    v("_final_norm", self.final_norm);
    nn::ignore_transformers_notes(v);
    v.ignore({"rope_parameters", "rope_scaling", "max_position_embeddings", "eos_token_id"});
  }

  nn::TextDecoderOptions options() const;
};

struct Mistral3Config {
  Mistral3TextConfig text;
  int64_t vision_layers = 24;  // whose weights files hold and prompts do not need

  static void visit(auto&, auto& v) {
    nn::ignore_transformers_notes(v);
    v.ignore({"text_config", "vision_config", "image_token_index", "image_token_id",
              "projector_hidden_act", "vision_feature_layer", "multimodal_projector_bias",
              "spatial_merge_size", "eos_token_id"});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Mistral3Config read_mistral3_config(const Json& json, const std::string& where);

}  // namespace omnirt
