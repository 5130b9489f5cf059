#include "networks/qwen_image21_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr const char* as_published = "qwen_image_21";
constexpr const char* fused = "qwen_image_21_comfy";
constexpr const char* fused_gate = "transformer_blocks.0.img_mlp.gate_up.weight";

nn::LayoutRule qwen_image21_within(const std::string& name, std::vector<nn::LayoutRule> rules) {
  return {name, name, nn::Form::same, 0, 1, std::move(rules)};
}

}  // namespace

std::vector<nn::OriginalLayout> qwen_image21_layouts() {
  const std::string both = "img_mlp.gate_up";
  std::vector<nn::LayoutRule> block{{"img_mlp.gate_layer", both, nn::Form::rows, 0, 2},
                                    {"img_mlp.proj", both, nn::Form::rows, 1, 2}};
  return {{fused,
           {qwen_image21_within("transformer_blocks", {qwen_image21_within("*", std::move(block))}),
            {"", ""}}},
          {as_published, {{"", ""}}}};
}

std::string qwen_image21_layout_of(const Qwen21Shapes& shapes) {
  return TensorShapes(shapes).has(fused_gate) ? fused : as_published;
}

Json qwen_image21_config_from_tensors(const Qwen21Shapes& all, const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("txt_in.text_norm.weight") ||
      !shapes.has("transformer_blocks.0.img_mlp.out.weight"))
    return {};
  constexpr int64_t head_dim = 128;  // of all that were released
  const int64_t dim = shapes.size("img_in.weight", 0);
  const int64_t head = shapes.size("transformer_blocks.0.attn.norm_q.weight", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  return {{"_class_name", "QwenImage21Transformer2DModel"},
          {"in_channels", shapes.size("img_in.weight", 1)},
          {"out_channels", shapes.size("proj_out.weight", 0)},
          {"num_layers", shapes.count("transformer_blocks.")},
          {"num_attention_heads", dim / head_dim},
          {"context_in_dim", shapes.size("txt_in.in_layer.weight", 1)},
          {"mlp_ratio", shapes.size("transformer_blocks.0.img_mlp.out.weight", 1) / dim}};
}

}  // namespace omnirt
