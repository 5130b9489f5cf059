#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/transformers_config.hpp"

namespace omnirt {

// The language model's part of Qwen2_5_VLForConditionalGeneration's config.json: its "text_config",
// or, in files of older versions of transformers, the file's own fields. Defaults are those of
// transformers' Qwen2_5_VLTextConfig.
struct Qwen25VLTextConfig {
  int64_t vocab_size = 152064;
  int64_t hidden_size = 8192;
  int64_t intermediate_size = 29568;
  int64_t num_hidden_layers = 80;
  int64_t num_attention_heads = 64;
  std::optional<int64_t> num_key_value_heads = 8;  // null: as many as heads
  std::string hidden_act = "silu";
  double rms_norm_eps = 1e-5;
  double rope_theta = 1'000'000;       // also in rope_parameters, which transformers 5 writes
  std::vector<int64_t> mrope_section;  // of rope_parameters or rope_scaling
  std::vector<std::string> layer_types;

  static void visit(auto& self, auto& v) {
    v("vocab_size", self.vocab_size);
    v("hidden_size", self.hidden_size);
    v("intermediate_size", self.intermediate_size);
    v("num_hidden_layers", self.num_hidden_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("num_key_value_heads", self.num_key_value_heads);
    v("hidden_act", self.hidden_act);
    v("rms_norm_eps", self.rms_norm_eps);
    v("rope_theta", self.rope_theta);
    v("layer_types", self.layer_types);
    v.only("use_sliding_window", {false});
    nn::ignore_transformers_notes(v);
    v.ignore({"rope_parameters", "rope_scaling", "sliding_window", "max_window_layers",
              "max_position_embeddings", "eos_token_id", "text_config", "vision_config",
              "vision_start_token_id", "vision_end_token_id", "vision_token_id", "image_token_id",
              "video_token_id"});
  }

  nn::TextDecoderOptions options() const;
};

// Its "vision_config"; defaults are those of transformers' Qwen2_5_VLVisionConfig.
struct Qwen25VLVisionConfig {
  int64_t depth = 32;
  int64_t hidden_size = 3584;
  std::string hidden_act = "silu";
  int64_t intermediate_size = 3420;
  int64_t num_heads = 16;
  int64_t in_channels = 3;
  int64_t patch_size = 14;
  int64_t spatial_merge_size = 2;
  int64_t temporal_patch_size = 2;
  int64_t window_size = 112;
  int64_t out_hidden_size = 3584;
  std::vector<int64_t> fullatt_block_indexes{7, 15, 23, 31};

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
    v("window_size", self.window_size);
    v("out_hidden_size", self.out_hidden_size);
    v("fullatt_block_indexes", self.fullatt_block_indexes);
    nn::ignore_transformers_notes(v);
    // in_chans: what early configs called in_channels, next to it.
    v.ignore({"rope_parameters", "tokens_per_second", "spatial_patch_size", "in_chans"});
  }

  int64_t head_dim() const { return hidden_size / num_heads; }
};

struct Qwen25VLConfig {
  Qwen25VLTextConfig text;
  std::optional<Qwen25VLVisionConfig> vision;  // absent: the weights have no vision tower
  int64_t image_token_id = 151655;
  int64_t vision_start_token_id = 151652;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Qwen25VLConfig read_qwen2_5_vl_config(const Json& json, const std::string& where);

}  // namespace omnirt
