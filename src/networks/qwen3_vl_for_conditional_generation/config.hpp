#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// "text_config" of Qwen3VLForConditionalGeneration's config.json; defaults are those of
// transformers' Qwen3VLTextConfig.
struct Qwen3VLTextConfig {
  int64_t vocab_size = 151936;
  int64_t hidden_size = 4096;
  int64_t intermediate_size = 22016;
  int64_t num_hidden_layers = 32;
  int64_t num_attention_heads = 32;
  std::optional<int64_t> num_key_value_heads = 32;  // null: as many as heads
  int64_t head_dim = 128;
  std::string hidden_act = "silu";
  double rms_norm_eps = 1e-6;
  bool attention_bias = false;
  double rope_theta = 500'000;  // also in rope_parameters, which transformers 5 writes
  // How many pairs of a head's values turn by time, row and column; the axes take turns.
  std::vector<int64_t> mrope_section{24, 20, 20};

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
    v("attention_bias", self.attention_bias);
    v("rope_theta", self.rope_theta);
    nn::ignore_transformers_notes(v);
    v.ignore({"rope_parameters", "rope_scaling", "max_position_embeddings", "eos_token_id"});
  }

  nn::TextDecoderOptions options() const;
};

struct Qwen3VLConfig {
  Qwen3VLTextConfig text;
  int64_t vision_layers = 27;  // whose weights files hold and prompts do not need
  int64_t vision_taps = 3;     // the layers of them that deepstack hands on
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Qwen3VLConfig read_qwen3_vl_config(const Json& json, const std::string& where);

}  // namespace omnirt
