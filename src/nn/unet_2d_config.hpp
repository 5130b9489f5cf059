#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

// How many transformer blocks follow each resnet of a level: one number, or a list with one for
// each resnet (SSD-1B and Segmind-Vega).
using UNetDepth = std::variant<int64_t, std::vector<int64_t>>;

// config.json of UNet2DConditionModel; defaults are those of the class in diffusers.
struct UNet2DConditionConfig {
  std::optional<nn::PerLevel<int64_t>> sample_size;  // of both sides, or {height, width}
  int64_t in_channels = 4;
  int64_t out_channels = 4;
  bool center_input_sample = false;
  bool flip_sin_to_cos = true;
  double freq_shift = 0;
  std::vector<std::string> down_block_types{"CrossAttnDownBlock2D", "CrossAttnDownBlock2D",
                                            "CrossAttnDownBlock2D", "DownBlock2D"};
  std::optional<std::string> mid_block_type = "UNetMidBlock2DCrossAttn";
  std::vector<std::string> up_block_types{"UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D",
                                          "CrossAttnUpBlock2D"};
  nn::PerLevel<bool> only_cross_attention = false;
  std::vector<int64_t> block_out_channels{320, 640, 1280, 1280};
  nn::PerLevel<int64_t> layers_per_block = int64_t{2};
  int64_t downsample_padding = 1;
  double mid_block_scale_factor = 1;
  std::string act_fn = "silu";
  int64_t norm_num_groups = 32;
  double norm_eps = 1e-5;
  nn::PerLevel<int64_t> cross_attention_dim = int64_t{1280};
  std::variant<int64_t, std::vector<UNetDepth>> transformer_layers_per_block = int64_t{1};
  // Of the up blocks, in their order; null: the levels' own.
  std::optional<std::vector<UNetDepth>> reverse_transformer_layers_per_block;
  // The number of heads, whatever its name says (github huggingface/diffusers issue 2011).
  nn::PerLevel<int64_t> attention_head_dim = int64_t{8};
  bool use_linear_projection = false;
  std::optional<bool> upcast_attention = false;  // null, in sd-turbo, is no
  std::string resnet_time_scale_shift = "default";
  std::optional<int64_t> time_embedding_dim;
  std::optional<std::string> time_embedding_act_fn;
  std::optional<std::string> timestep_post_act;
  std::optional<int64_t> time_cond_proj_dim;
  int64_t conv_in_kernel = 3;
  int64_t conv_out_kernel = 3;
  // "text_time" (Stable Diffusion XL): a pooled text and some numbers (sizes, scores), embedded and
  // added to the timestep's embedding.
  std::optional<std::string> addition_embed_type;
  std::optional<int64_t> addition_time_embed_dim;                // of one number
  std::optional<int64_t> projection_class_embeddings_input_dim;  // of all, and the text

  static void visit(auto& self, auto& v) {
    v("sample_size", self.sample_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("center_input_sample", self.center_input_sample);
    v("flip_sin_to_cos", self.flip_sin_to_cos);
    v("freq_shift", self.freq_shift);
    v("down_block_types", self.down_block_types);
    v("mid_block_type", self.mid_block_type);
    v("up_block_types", self.up_block_types);
    v("only_cross_attention", self.only_cross_attention);
    v("block_out_channels", self.block_out_channels);
    v("layers_per_block", self.layers_per_block);
    v("downsample_padding", self.downsample_padding);
    v("mid_block_scale_factor", self.mid_block_scale_factor);
    v("act_fn", self.act_fn);
    v("norm_num_groups", self.norm_num_groups);
    v("norm_eps", self.norm_eps);
    v("cross_attention_dim", self.cross_attention_dim);
    v("transformer_layers_per_block", self.transformer_layers_per_block);
    v("reverse_transformer_layers_per_block", self.reverse_transformer_layers_per_block);
    v("attention_head_dim", self.attention_head_dim);
    v("use_linear_projection", self.use_linear_projection);
    v("upcast_attention", self.upcast_attention);
    v("resnet_time_scale_shift", self.resnet_time_scale_shift);
    v("time_embedding_dim", self.time_embedding_dim);
    v("time_embedding_act_fn", self.time_embedding_act_fn);
    v("timestep_post_act", self.timestep_post_act);
    v("time_cond_proj_dim", self.time_cond_proj_dim);
    v("conv_in_kernel", self.conv_in_kernel);
    v("conv_out_kernel", self.conv_out_kernel);
    v("addition_embed_type", self.addition_embed_type);
    v("addition_time_embed_dim", self.addition_time_embed_dim);
    v("projection_class_embeddings_input_dim", self.projection_class_embeddings_input_dim);
    v.only("time_embedding_type", {"positional"});
    v.only("attention_type", {"default"});
    v.only("dual_cross_attention", {false});
    v.only("class_embeddings_concat", {false});
    v.only("num_attention_heads", {});
    v.only("encoder_hid_dim", {});
    v.only("encoder_hid_dim_type", {});
    v.only("class_embed_type", {});
    v.only("num_class_embeds", {});
    v.only("quantization_config", {});
    // Of training, or read only with values that are refused above, or by block types that are.
    v.ignore({"dropout", "addition_embed_type_num_heads", "mid_block_only_cross_attention",
              "cross_attention_norm", "resnet_skip_time_act", "resnet_out_scale_factor"});
  }
};

// One level of the UNet, from the full resolution down.
struct UNetLevel {
  int64_t channels = 0;
  int64_t layers = 0;  // resnets on the down path; one more on the up path
  // Transformer blocks after each resnet on the down path and on the up path, and in the middle.
  std::vector<int64_t> down_depths, up_depths;
  int64_t middle_depth = 0;
  int64_t heads = 0;
  int64_t context_dim = 0;
  bool only_cross_attention = false;
  bool cross_attention_down = false;
  bool cross_attention_up = false;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
UNet2DConditionConfig read_unet_2d_condition_config(const Json& json, const std::string& where);

// The same check for a config that another class's file holds.
void check_unet_2d_condition_config(const UNet2DConditionConfig& config, nn::ConfigCheck& check);

// The levels of a config that was read.
std::vector<UNetLevel> unet_levels(const UNet2DConditionConfig& config);

}  // namespace omnirt
