#include "networks/flux_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "nn/blocks/flux_rules.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

nn::OriginalLayout flux_original_layout() {
  std::vector<nn::LayoutRule> embedder{{"linear_1", "in_layer"}, {"linear_2", "out_layer"}};
  auto embedded = [&](const std::string& ours, const char* theirs) {
    return nn::LayoutRule{"time_text_embed." + ours, theirs, nn::Form::same, 0, 1, embedder};
  };
  std::vector<nn::LayoutRule> rules = nn::flux_rules();
  rules.insert(rules.end(),
               {{"x_embedder", "img_in"},
                {"context_embedder", "txt_in"},
                embedded("timestep_embedder", "time_in"),
                embedded("guidance_embedder", "guidance_in"),
                embedded("text_embedder", "vector_in"),
                {"norm_out.linear", "final_layer.adaLN_modulation.1", nn::Form::swapped},
                {"proj_out", "final_layer.linear"}});
  return {"flux", rules};
}

nn::OriginalLayout flux_xlabs_layout() {
  return {"xlabs", nn::flux_xlabs_rules()};
}

Json flux_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                          const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("double_blocks.0.img_mod.lin.weight") || !shapes.has("vector_in.in_layer.weight"))
    return {};
  constexpr int64_t head_dim = 128;  // of all that were released
  int64_t dim = shapes.size("img_in.weight", 0);
  int64_t head = shapes.size("double_blocks.0.img_attn.norm.query_norm.scale", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  return {{"_class_name", "FluxTransformer2DModel"},
          {"in_channels", shapes.size("img_in.weight", 1)},
          {"out_channels", shapes.size("final_layer.linear.weight", 0)},
          {"num_layers", shapes.count("double_blocks.")},
          {"num_single_layers", shapes.count("single_blocks.")},
          {"num_attention_heads", dim / head_dim},
          {"joint_attention_dim", shapes.size("txt_in.weight", 1)},
          {"pooled_projection_dim", shapes.size("vector_in.in_layer.weight", 1)},
          {"guidance_embeds", shapes.has("guidance_in.in_layer.weight")}};
}

}  // namespace omnirt
