#include "networks/chroma_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "nn/blocks/flux_rules.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

nn::OriginalLayout chroma_original_layout() {
  const std::string approximator = "distilled_guidance_layer";
  std::vector<nn::LayoutRule> layer{
      {"*", "*", nn::Form::same, 0, 1, {{"linear_1", "in_layer"}, {"linear_2", "out_layer"}}}};
  std::vector<nn::LayoutRule> norm{{"*", "*", nn::Form::same, 0, 1, {{"weight", "scale"}}}};
  std::vector<nn::LayoutRule> rules = nn::flux_rules();
  rules.insert(rules.end(),
               {{"x_embedder", "img_in"},
                {"context_embedder", "txt_in"},
                {approximator + ".in_proj", approximator + ".in_proj"},
                {approximator + ".out_proj", approximator + ".out_proj"},
                {approximator + ".layers", approximator + ".layers", nn::Form::same, 0, 1, layer},
                {approximator + ".norms", approximator + ".norms", nn::Form::same, 0, 1, norm},
                {"proj_out", "final_layer.linear"}});
  return {"chroma", rules};
}

Json chroma_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                            const std::string& where) {
  const TensorShapes shapes(all);
  const std::string approximator = "distilled_guidance_layer.";
  if (!shapes.has("double_blocks.0.img_attn.qkv.weight") ||
      !shapes.has(approximator + "in_proj.weight"))
    return {};
  constexpr int64_t head_dim = 128;  // of all that were released
  const int64_t dim = shapes.size("img_in.weight", 0);
  const int64_t head = shapes.size("double_blocks.0.img_attn.norm.query_norm.scale", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  return {{"_class_name", "ChromaTransformer2DModel"},
          {"in_channels", shapes.size("img_in.weight", 1)},
          {"out_channels", shapes.size("final_layer.linear.weight", 0)},
          {"num_layers", shapes.count("double_blocks.")},
          {"num_single_layers", shapes.count("single_blocks.")},
          {"num_attention_heads", dim / head_dim},
          {"joint_attention_dim", shapes.size("txt_in.weight", 1)},
          {"approximator_num_channels", shapes.size(approximator + "in_proj.weight", 1)},
          {"approximator_hidden_dim", shapes.size(approximator + "in_proj.weight", 0)},
          {"approximator_layers", shapes.count(approximator + "layers.")}};
}

}  // namespace omnirt
