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

// Its "vision_config"; defaults are those of transformers' Qwen3VLVisionConfig.
struct Qwen3VLVisionConfig {
  int64_t depth = 27;
  int64_t hidden_size = 1152;
  std::string hidden_act = "gelu_pytorch_tanh";
  int64_t intermediate_size = 4304;
  int64_t num_heads = 16;
  int64_t in_channels = 3;
  int64_t patch_size = 16;
  int64_t spatial_merge_size = 2;
  int64_t temporal_patch_size = 2;
  int64_t out_hidden_size = 3584;
  int64_t num_position_embeddings = 2304;  // of a square grid
  // The layers whose states deepstack adds to those of the language model's first layers.
  std::vector<int64_t> deepstack_visual_indexes{8, 16, 24};
  std::optional<double> rope_theta;  // in rope_parameters, which transformers 5 writes

  static void visit(auto& self, auto& v) {
    v("depth", self.depth);
    v("hidden_size", self.hidden_size);
    v("hidden_act", self.hidden_act);
    v("intermediate_size", self.intermediate_size);
    v("num_heads", self.num_heads);
    v("in_channels", self.in_channels);
    v("patch_size", self.patch_size);
    v("spatial_merge_size", self.spatial_merge_size);
    v("temporal_patch_size", self.temporal_patch_size);
    v("out_hidden_size", self.out_hidden_size);
    v("num_position_embeddings", self.num_position_embeddings);
    v("deepstack_visual_indexes", self.deepstack_visual_indexes);
    nn::ignore_transformers_notes(v);
    v.ignore({"rope_parameters"});
  }

  int64_t head_dim() const { return hidden_size / num_heads; }
  // Rows, and columns, of the grid of position embeddings.
  int64_t grid_side() const;
};

struct Qwen3VLConfig {
  Qwen3VLTextConfig text;
  std::optional<Qwen3VLVisionConfig> vision;  // absent: the weights have no vision tower
  int64_t image_token_id = 151655;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Qwen3VLConfig read_qwen3_vl_config(const Json& json, const std::string& where);

}  // namespace omnirt
