#include "networks/z_image_transformer_2d_model/original.hpp"

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

nn::LayoutRule z_image_blocks(const std::string& name) {
  Rules within{{"attention.to_out.0", "attention.out"},
               {"attention.norm_q", "attention.q_norm"},
               {"attention.norm_k", "attention.k_norm"}};
  const std::vector<std::string> projections{"to_q", "to_k", "to_v"};
  for (size_t i = 0; i < projections.size(); ++i) {
    within.push_back(
        {"attention." + projections[i], "attention.qkv", nn::Form::rows, i, projections.size()});
  }
  return {name, name, nn::Form::same, 0, 1, {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

}  // namespace

nn::OriginalLayout z_image_original_layout(bool omni) {
  nn::OriginalLayout made{"z_image",
                          {{"all_x_embedder.2-1", "x_embedder"},
                           {"all_final_layer.2-1", "final_layer"},
                           z_image_blocks("noise_refiner"),
                           z_image_blocks("context_refiner"),
                           z_image_blocks("layers"),
                           {"t_embedder", "t_embedder"},
                           {"cap_embedder", "cap_embedder"},
                           {"x_pad_token", "x_pad_token"},
                           {"cap_pad_token", "cap_pad_token"}},
                          {"norm_final"}};
  if (omni) {
    made.rules.push_back({"siglip_embedder", "siglip_embedder"});
    made.rules.push_back(z_image_blocks("siglip_refiner"));
    made.rules.push_back({"siglip_pad_token", "siglip_pad_token"});
  }
  return made;
}

Json z_image_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                             const std::string& where) {
  const TensorShapes shapes(all);
  // Lumina 2 has the same names, but no tokens that fill up.
  if (!shapes.has("x_pad_token") || !shapes.has("layers.0.attention.qkv.weight")) return {};
  constexpr int64_t head_dim = 128;  // of all that were released
  int64_t dim = shapes.size("x_embedder.weight", 0);
  int64_t head = shapes.size("layers.0.attention.q_norm.weight", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  Json config = {{"_class_name", "ZImageTransformer2DModel"},
                 {"in_channels", shapes.size("x_embedder.weight", 1) / 4},
                 {"dim", dim},
                 {"n_layers", shapes.count("layers.")},
                 {"n_refiner_layers", shapes.count("noise_refiner.")},
                 {"n_heads", dim / head_dim},
                 {"cap_feat_dim", shapes.size("cap_embedder.1.weight", 1)},
                 {"axes_lens", {1536, 512, 512}}};
  if (shapes.has("siglip_embedder.1.weight"))
    config["siglip_feat_dim"] = shapes.size("siglip_embedder.1.weight", 1);
  return config;
}

}  // namespace omnirt
