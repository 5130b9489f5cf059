#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

// config.json of UNetSpatioTemporalConditionModel; defaults are those of the class in diffusers.
struct UNetSpatioTemporalConfig {
  std::optional<nn::PerLevel<int64_t>> sample_size;  // of both sides, or {height, width}
  int64_t in_channels = 8;
  int64_t out_channels = 4;
  std::vector<std::string> down_block_types{
      "CrossAttnDownBlockSpatioTemporal", "CrossAttnDownBlockSpatioTemporal",
      "CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"};
  std::vector<std::string> up_block_types{"UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal",
                                          "CrossAttnUpBlockSpatioTemporal",
                                          "CrossAttnUpBlockSpatioTemporal"};
  std::vector<int64_t> block_out_channels{320, 640, 1280, 1280};
  int64_t addition_time_embed_dim = 256;
  int64_t projection_class_embeddings_input_dim = 768;
  nn::PerLevel<int64_t> layers_per_block = int64_t{2};
  nn::PerLevel<int64_t> cross_attention_dim = int64_t{1024};
  nn::PerLevel<int64_t> transformer_layers_per_block = int64_t{1};
  nn::PerLevel<int64_t> num_attention_heads = std::vector<int64_t>{5, 10, 20, 20};
  int64_t num_frames = 25;

  static void visit(auto& self, auto& v) {
    v("sample_size", self.sample_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("down_block_types", self.down_block_types);
    v("up_block_types", self.up_block_types);
    v("block_out_channels", self.block_out_channels);
    v("addition_time_embed_dim", self.addition_time_embed_dim);
    v("projection_class_embeddings_input_dim", self.projection_class_embeddings_input_dim);
    v("layers_per_block", self.layers_per_block);
    v("cross_attention_dim", self.cross_attention_dim);
    v("transformer_layers_per_block", self.transformer_layers_per_block);
    v("num_attention_heads", self.num_attention_heads);
    v("num_frames", self.num_frames);
    v.only("quantization_config", {});
  }
};

// One level of the UNet, from the full resolution down.
struct SpatioTemporalLevel {
  int64_t channels = 0;
  int64_t layers = 0;  // resnets on the down path; one more on the up path
  int64_t transformer_layers = 0;
  int64_t heads = 0;
  int64_t context_dim = 0;
  bool cross_attention_down = false;
  bool cross_attention_up = false;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
UNetSpatioTemporalConfig read_unet_spatio_temporal_config(const Json& json,
                                                          const std::string& where);

// The levels of a config that was read.
std::vector<SpatioTemporalLevel> spatio_temporal_levels(const UNetSpatioTemporalConfig& config);

// GroupNorm's groups everywhere in these networks, whatever a config says (diffusers resnet.py,
// transformer_temporal.py, unet_spatio_temporal_condition.py).
inline constexpr int64_t spatio_temporal_groups = 32;

}  // namespace omnirt
