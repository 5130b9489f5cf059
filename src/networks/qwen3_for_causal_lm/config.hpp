#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// config.json of Qwen3ForCausalLM; defaults are those of transformers' Qwen3Config.
struct Qwen3Config {
  int64_t vocab_size = 151936;
  int64_t hidden_size = 4096;
  int64_t intermediate_size = 22016;
  int64_t num_hidden_layers = 32;
  int64_t num_attention_heads = 32;
  std::optional<int64_t> num_key_value_heads = 32;  // null: as many as heads
  std::optional<int64_t> head_dim = 128;            // null: hidden_size / num_attention_heads
  std::string hidden_act = "silu";
  double rms_norm_eps = 1e-6;
  bool attention_bias = false;
  double rope_theta = 10000;  // also in rope_parameters, which transformers 5 writes
  std::vector<std::string> layer_types;

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
    v("layer_types", self.layer_types);
    v.only("use_sliding_window", {false});
    nn::ignore_transformers_notes(v);
    // rope_parameters and rope_scaling are read apart. The window counts where it is used only,
    // positions beyond those of the training are no error of the reference's, and the words that a
    // conversation ends in are nothing to an encoder.
    v.ignore({"rope_parameters", "rope_scaling", "sliding_window", "max_window_layers",
              "max_position_embeddings", "eos_token_id"});
  }

  nn::TextDecoderOptions options() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Qwen3Config read_qwen3_config(const Json& json, const std::string& where);

}  // namespace omnirt
