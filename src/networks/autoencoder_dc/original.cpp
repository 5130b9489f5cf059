#include "networks/autoencoder_dc/original.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using DCRules = std::vector<nn::LayoutRule>;

nn::LayoutRule dc_within(const std::string& ours, const std::string& theirs, DCRules rules) {
  return {ours, theirs, nn::Form::same, 0, 1, std::move(rules)};
}

nn::LayoutRule dc_part_of_qkv(const char* ours, size_t part) {
  return {ours, "qkv.conv", nn::Form::rows, part, 3, {}, 1, /*filter=*/true};
}

DCRules dc_attention() {
  DCRules scale{{"proj_in", "0"}, {"proj_out", "1"}};
  return {dc_part_of_qkv("to_q", 0),
          dc_part_of_qkv("to_k", 1),
          dc_part_of_qkv("to_v", 2),
          dc_within("to_qkv_multiscale", "aggreg", {dc_within("*", "*", std::move(scale))}),
          {"to_out", "proj.conv", nn::Form::conv1x1},
          {"norm_out", "proj.norm"}};
}

// Of a layer of any kind; `resampling`: the name of a convolution between two levels.
DCRules dc_layer(const char* resampling) {
  return {{"conv1", "main.conv1.conv"},
          {"conv2", "main.conv2.conv"},
          {"norm", "main.conv2.norm"},
          dc_within("attn", "context_module.main", dc_attention()),
          dc_within("conv_out", "local_module.main",
                    {{"conv_inverted", "inverted_conv.conv"},
                     {"conv_depth", "depth_conv.conv"},
                     {"conv_point", "point_conv.conv"},
                     {"norm", "point_conv.norm"}}),
          {"conv", resampling}};
}

nn::LayoutRule dc_stages(const char* ours, const char* resampling) {
  DCRules layers{dc_within("", "op_list", {dc_within("*", "*", dc_layer(resampling))})};
  return dc_within(ours, "stages", {dc_within("*", "*", std::move(layers))});
}

// What files tell of one half.
struct DCHalfTold {
  Json types = Json::array(), channels = Json::array(), layers = Json::array();
  Json scales = Json::array();
};

Json dc_scales(const TensorShapes& shapes, const std::string& aggregates) {
  Json scales = Json::array();
  for (int64_t i = 0; i < shapes.count(aggregates); ++i)
    scales.push_back(shapes.size(fmt::format("{}{}.0.weight", aggregates, i), -1));
  return scales;
}

// Every stage but the coarsest has one layer more, which is of another size: the encoder's last,
// the decoder's first.
DCHalfTold dc_half_told(const TensorShapes& shapes, const std::string& half) {
  DCHalfTold told;
  const int64_t stages = shapes.count(half + ".stages.");
  const bool first_resamples = half == "decoder";
  for (int64_t i = 0; i < stages; ++i) {
    const std::string stage = fmt::format("{}.stages.{}.op_list.", half, i);
    const bool coarsest = i + 1 == stages;
    const std::string layer = stage + (first_resamples && !coarsest ? "1." : "0.");
    const std::string attention = layer + "context_module.main.";
    const bool attends = shapes.has(attention + "qkv.conv.weight");
    told.types.push_back(attends ? "EfficientViTBlock" : "ResBlock");
    told.channels.push_back(
        shapes.size(attends ? attention + "qkv.conv.weight" : layer + "main.conv1.conv.weight", 1));
    told.layers.push_back(shapes.count(stage) - (coarsest ? 0 : 1));
    told.scales.push_back(dc_scales(shapes, attention + "aggreg."));
  }
  return told;
}

void put_half(Json& config, const TensorShapes& shapes, const std::string& half) {
  DCHalfTold told = dc_half_told(shapes, half);
  config[half + "_block_types"] = std::move(told.types);
  config[half + "_block_out_channels"] = std::move(told.channels);
  config[half + "_layers_per_block"] = std::move(told.layers);
  config[half + "_qkv_multiscales"] = std::move(told.scales);
}

// Heads are as wide as the groups of the further queries, keys and values; without any, as all that
// were released.
int64_t dc_head_dim(const TensorShapes& shapes) {
  constexpr int64_t released = 32;
  for (const auto& [name, shape] : shapes.all())
    if (name.ends_with(".aggreg.0.1.weight")) return shapes.size(name, 1);
  return released;
}

void refuse_empty_level(const TensorShapes& shapes, const std::string& where) {
  const char* first = "encoder.project_in.conv.conv.weight";
  if (!shapes.has(first) || !shapes.has("decoder.stages.1.op_list.0.main.conv.conv.bias")) return;
  throw Unsupported({where, first,
                     "a deep compression autoencoder whose finest level has no layers; Sana's "
                     "(dc-ae-f32c32-sana) are read",
                     "give the autoencoder of a Sana"});
}

}  // namespace

nn::OriginalLayout dc_autoencoder_layout(const AutoencoderDCConfig& config) {
  const bool unshuffles = config.downsample_block_type == "pixel_unshuffle";
  const std::string out = config.encoder_out_shortcut ? "project_out.main" : "project_out";
  const std::string in = config.decoder_in_shortcut ? "project_in.main" : "project_in";
  return {"dc-ae",
          {dc_within("encoder", "encoder",
                     {{"conv_in", "project_in.conv"},
                      dc_stages("down_blocks", unshuffles ? "main.conv.conv" : "main.conv"),
                      {"conv_out", out + ".op_list.0.conv"}}),
           dc_within("decoder", "decoder",
                     {{"conv_in", in + ".conv"},
                      dc_stages("up_blocks", "main.conv.conv"),
                      {"norm_out", "project_out.op_list.0"},
                      {"conv_out", "project_out.op_list.2.conv"}})}};
}

Json dc_autoencoder_config(const std::map<std::string, std::vector<int64_t>>& all,
                           const std::string& where) {
  const TensorShapes shapes(all);
  const std::string up = "decoder.stages.0.op_list.0.main.conv.conv.weight";
  refuse_empty_level(shapes, where);
  if (!shapes.has("encoder.project_in.conv.bias") || !shapes.any("encoder.stages.0.op_list.0.") ||
      !shapes.has(up))
    return {};
  Json config{{"_class_name", "AutoencoderDC"}, {"scaling_factor", 0.41407}};
  for (const char* half : {"encoder", "decoder"}) put_half(config, shapes, half);
  const bool shortcut = shapes.has("decoder.project_in.main.conv.weight");
  config["in_channels"] = shapes.size("encoder.project_in.conv.weight", 1);
  config["latent_channels"] = shapes.size(
      shortcut ? "decoder.project_in.main.conv.weight" : "decoder.project_in.conv.weight", 1);
  config["attention_head_dim"] = dc_head_dim(shapes);
  config["decoder_in_shortcut"] = shortcut;
  config["encoder_out_shortcut"] = shapes.has("encoder.project_out.main.op_list.0.conv.weight");
  const bool interpolates = shapes.size(up, 0) == config["decoder_block_out_channels"][0];
  config["upsample_block_type"] = interpolates ? "interpolate" : "pixel_shuffle";
  const std::string down = fmt::format("encoder.stages.0.op_list.{}.main.conv.weight",
                                       config["encoder_layers_per_block"][0].get<int64_t>());
  config["downsample_block_type"] = shapes.has(down) ? "conv" : "pixel_unshuffle";
  return config;
}

}  // namespace omnirt
