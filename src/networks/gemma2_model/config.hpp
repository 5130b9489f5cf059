#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// config.json of Gemma2Model; defaults are those of transformers' Gemma2Config.
struct Gemma2Config {
  int64_t vocab_size = 256000;
  int64_t hidden_size = 2304;
  int64_t intermediate_size = 9216;
  int64_t num_hidden_layers = 26;
  int64_t num_attention_heads = 8;
  int64_t num_key_value_heads = 4;
  int64_t head_dim = 256;
  std::string hidden_activation = "gelu_pytorch_tanh";
  double rms_norm_eps = 1e-6;
  bool attention_bias = false;
  double rope_theta = 10000;  // also in rope_parameters, which transformers 5 writes
  double query_pre_attn_scalar = 256;
  std::optional<int64_t> sliding_window = 4096;  // of every other layer; null: of none
  std::vector<std::string> layer_types;          // empty: by turns, the first within the window
  std::optional<double> attn_logit_softcapping = 50.0;

  static void visit(auto& self, auto& v) {
    v("vocab_size", self.vocab_size);
    v("hidden_size", self.hidden_size);
    v("intermediate_size", self.intermediate_size);
    v("num_hidden_layers", self.num_hidden_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("num_key_value_heads", self.num_key_value_heads);
    v("head_dim", self.head_dim);
    v("hidden_activation", self.hidden_activation);
    v("rms_norm_eps", self.rms_norm_eps);
    v("attention_bias", self.attention_bias);
    v("rope_theta", self.rope_theta);
    v("query_pre_attn_scalar", self.query_pre_attn_scalar);
    v("sliding_window", self.sliding_window);
    v("layer_types", self.layer_types);
    v("attn_logit_softcapping", self.attn_logit_softcapping);
    v.only("use_bidirectional_attention", {false});
    nn::ignore_transformers_notes(v);
    // rope_parameters and rope_scaling are read apart; hidden_act is an older name of the
    // activation, which the reference does not read; the others say how texts would go on.
    v.ignore({"rope_parameters", "rope_scaling", "hidden_act", "max_position_embeddings",
              "eos_token_id", "final_logit_softcapping", "cache_implementation"});
  }

  nn::TextDecoderOptions options() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Gemma2Config read_gemma2_config(const Json& json, const std::string& where);

}  // namespace omnirt
