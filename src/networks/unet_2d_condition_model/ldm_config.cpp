#include "networks/unet_2d_condition_model/ldm_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr int64_t norm_groups = 32;
constexpr int64_t head_width = 64;
constexpr int64_t heads_of_v1 = 8;

struct Level {
  int64_t channels = 0;
  int64_t layers = 0;
  std::vector<int64_t> down_depths{};  // transformer blocks after each resnet; all 0: none

  bool has_transformers() const {
    return std::ranges::any_of(down_depths, [](int64_t depth) { return depth > 0; });
  }
};

[[noreturn]] void refuse(const std::string& prefix, const std::string& message) {
  throw Unsupported({prefix + "*", "", message,
                     "give config.single_file_config a folder with the model's config files"});
}

class Reader {
 public:
  Reader(const TensorShapes& shapes, const std::string& prefix)
      : shapes_(shapes), prefix_(prefix) {}

  Json read() {
    read_levels();
    Json config = {{"_class_name", "UNet2DConditionModel"},
                   {"act_fn", "silu"},
                   {"in_channels", shapes_.size(prefix_ + "input_blocks.0.0.weight", 1)},
                   {"out_channels", shapes_.size(prefix_ + "out.2.weight", 0)},
                   {"center_input_sample", false},
                   {"flip_sin_to_cos", true},
                   {"freq_shift", 0},
                   {"downsample_padding", 1},
                   {"mid_block_scale_factor", 1},
                   {"norm_eps", 1e-05},
                   {"norm_num_groups", norm_groups}};
    add_levels(config);
    add_transformers(config);
    if (shapes_.has(prefix_ + "label_emb.0.0.weight")) add_embedding(config);
    return config;
  }

 private:
  void read_levels() {
    int64_t blocks = shapes_.count(prefix_ + "input_blocks.");
    levels_.emplace_back();
    for (int64_t i = 1; i < blocks; ++i) {
      std::string block = fmt::format("{}input_blocks.{}.", prefix_, i);
      if (shapes_.has(block + "0.op.weight")) {
        levels_.emplace_back();
        continue;
      }
      Level& level = levels_.back();
      level.channels = shapes_.size(block + "0.out_layers.3.weight", 0);
      level.down_depths.push_back(shapes_.count(block + "1.transformer_blocks."));
      ++level.layers;
      if (level.down_depths.back() > 0) transformer_ = block + "1.";
    }
    bool even = std::ranges::all_of(
        levels_, [&](const Level& level) { return level.layers == levels_[0].layers; });
    if (levels_.size() > 8 || levels_[0].layers < 1 || !even)
      refuse(prefix_, "the levels of this UNet have different numbers of layers, or none");
    if (transformer_.empty()) refuse(prefix_, "this UNet has no attention to text");
  }

  void add_levels(Json& config) const {
    Json channels = Json::array(), down = Json::array(), up = Json::array();
    for (const Level& level : levels_) {
      if (level.channels % norm_groups != 0) {
        refuse(prefix_, fmt::format("a level has {} channels, which are not groups of {}",
                                    level.channels, norm_groups));
      }
      channels.push_back(level.channels);
      down.push_back(level.has_transformers() ? "CrossAttnDownBlock2D" : "DownBlock2D");
      up.insert(up.begin(), level.has_transformers() ? "CrossAttnUpBlock2D" : "UpBlock2D");
    }
    config["block_out_channels"] = channels;
    config["down_block_types"] = down;
    config["up_block_types"] = up;
    config["layers_per_block"] = levels_[0].layers;
  }

  void add_transformers(Json& config) const {
    bool linear = shapes_.rank(transformer_ + "proj_in.weight") == 2;
    Json heads = Json::array();
    for (const Level& level : levels_) {
      int64_t one = linear ? level.channels / head_width : heads_of_v1;
      if (one < 1 || level.channels % one != 0) {
        refuse(prefix_,
               fmt::format("how many heads the {} channels of a level have does not follow from "
                           "names and shapes",
                           level.channels));
      }
      heads.push_back(one);
    }
    config["attention_head_dim"] = linear ? heads : Json(heads_of_v1);
    config["cross_attention_dim"] =
        shapes_.size(transformer_ + "transformer_blocks.0.attn2.to_k.weight", 1);
    config["use_linear_projection"] = linear;
    add_depths(config);
  }

  // One number where all are the same.
  static Json depth_of(const std::vector<int64_t>& depths) {
    const bool same = std::ranges::all_of(depths, [&](int64_t each) { return each == depths[0]; });
    return same ? Json(depths[0]) : Json(depths);
  }

  std::vector<int64_t> up_depths(size_t level) const {
    std::vector<int64_t> depths;
    const int64_t each = levels_[0].layers + 1;
    const int64_t first = static_cast<int64_t>(levels_.size() - 1 - level) * each;
    for (int64_t i = first; i < first + each; ++i)
      depths.push_back(
          shapes_.count(fmt::format("{}output_blocks.{}.1.transformer_blocks.", prefix_, i)));
    return depths;
  }

  void add_depths(Json& config) const {
    const int64_t middle = shapes_.count(prefix_ + "middle_block.1.transformer_blocks.");
    Json down = Json::array(), up = Json::array();
    bool uneven = false;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const Level& level = levels_[i];
      if (level.has_transformers()) {
        down.push_back(depth_of(level.down_depths));
        up.insert(up.begin(), depth_of(up_depths(i)));
      } else {
        // The middle block takes its depth from the last level's entry.
        down.push_back(i + 1 == levels_.size() && middle > 0 ? middle : 1);
        up.insert(up.begin(), 1);
      }
      uneven |= level.has_transformers() && down.back() != up.front();
      uneven |= down.back().is_array();
    }
    const std::vector<int64_t>& lowest = levels_.back().down_depths;
    if (middle == 0) {
      config["mid_block_type"] = "UNetMidBlock2D";
    } else if (levels_.back().has_transformers() && lowest.front() != middle) {
      refuse(prefix_, fmt::format("the middle block has {} transformer blocks and the lowest level "
                                  "{}: no config says that",
                                  middle, lowest.front()));
    }
    const bool same =
        std::ranges::all_of(down, [&](const Json& depth) { return depth == down[0]; });
    config["transformer_layers_per_block"] = same && !uneven ? down[0] : down;
    if (uneven) config["reverse_transformer_layers_per_block"] = up;
  }

  // The pooled text and the sizes, each by 256 waves, in one vector (sgm openaimodel.py label_emb).
  void add_embedding(Json& config) const {
    config["addition_embed_type"] = "text_time";
    config["addition_time_embed_dim"] = 256;
    config["projection_class_embeddings_input_dim"] =
        shapes_.size(prefix_ + "label_emb.0.0.weight", 1);
  }

  const TensorShapes& shapes_;
  const std::string& prefix_;
  std::vector<Level> levels_;
  std::string transformer_;  // where a transformer is
};

}  // namespace

Json ldm_unet_config(const TensorShapes& shapes, const std::string& prefix) {
  return Reader(shapes, prefix).read();
}

int64_t ldm_unet_context(const TensorShapes& shapes, const std::string& prefix) {
  for (const auto& [name, shape] : shapes.all()) {
    if (name.starts_with(prefix) && name.ends_with(".transformer_blocks.0.attn2.to_k.weight"))
      return shapes.size(name, 1);
  }
  return 0;
}

Json ldm_unet_config_alone(const std::map<std::string, std::vector<int64_t>>& all,
                           const std::string&) {
  const TensorShapes shapes(all);
  bool video = shapes.any("input_blocks.1.0.time_stack.");
  if (!shapes.has("input_blocks.0.0.weight") || !shapes.has("out.2.weight") || video) return {};
  Json config = ldm_unet_config(shapes, "");
  config["sample_size"] = shapes.has("label_emb.0.0.weight") ? 128 : 64;
  return config;
}

}  // namespace omnirt
