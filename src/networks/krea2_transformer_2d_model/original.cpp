#include "networks/krea2_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

nn::LayoutRule krea2_blocks(const std::string& ours, const std::string& theirs) {
  Rules within{{"scale_shift_table", "mod.lin", nn::Form::flat},
               {"attn.to_q", "attn.wq"},
               {"attn.to_k", "attn.wk"},
               {"attn.to_v", "attn.wv"},
               {"attn.to_out.0", "attn.wo"},
               {"attn.to_gate", "attn.gate"},
               {"attn.norm_q.weight", "attn.qknorm.qnorm.scale"},
               {"attn.norm_k.weight", "attn.qknorm.knorm.scale"},
               {"ff", "mlp"},
               {"norm1.weight", "prenorm.scale"},
               {"norm2.weight", "postnorm.scale"}};
  return {ours, theirs, nn::Form::same,
          0,    1,      {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

int64_t krea2_heads_width(const TensorShapes& shapes, const std::string& block) {
  return shapes.size(block + "attn.qknorm.qnorm.scale", 0);
}

// What each axis of positions turns of a head (github krea-ai/krea-2, SingleStreamDiT).
std::vector<int64_t> krea2_axes(int64_t head_dim) {
  const int64_t side = 6 * (head_dim / 16);
  return {head_dim - 2 * side, side, side};
}

int64_t krea2_head_dim(const TensorShapes& shapes, const std::string& block,
                       const std::string& where) {
  const int64_t head_dim = krea2_heads_width(shapes, block);
  if (head_dim >= 16 && head_dim % 2 == 0) return head_dim;
  throw Unsupported({where, std::to_string(head_dim),
                     "heads whose axes the original code does not tell: their width must be even "
                     "and 16 or more",
                     "give a folder with the model's config.json"});
}

}  // namespace

nn::OriginalLayout krea2_original_layout() {
  return {"krea2",
          {{"img_in", "first"},
           {"time_embed.linear_1", "tmlp.0"},
           {"time_embed.linear_2", "tmlp.2"},
           {"time_mod_proj", "tproj.1"},
           {"txt_in.norm.weight", "txtmlp.0.scale"},
           {"txt_in.linear_1", "txtmlp.1"},
           {"txt_in.linear_2", "txtmlp.3"},
           {"text_fusion.projector", "txtfusion.projector"},
           krea2_blocks("text_fusion.layerwise_blocks", "txtfusion.layerwise_blocks"),
           krea2_blocks("text_fusion.refiner_blocks", "txtfusion.refiner_blocks"),
           krea2_blocks("transformer_blocks", "blocks"),
           {"final_layer.linear", "last.linear"},
           {"final_layer.norm.weight", "last.norm.scale"},
           {"final_layer.scale_shift_table", "last.modulation.lin"}},
          {"last.up", "last.down"}};
}

Json krea2_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                           const std::string& where) {
  const TensorShapes shapes(all);
  const std::string text = "txtfusion.layerwise_blocks.", block = "blocks.0.";
  if (!shapes.has("txtfusion.projector.weight") || !shapes.has(block + "mod.lin")) return {};
  const int64_t head_dim = krea2_head_dim(shapes, block, where);
  const int64_t text_head_dim = krea2_heads_width(shapes, text + "0.");
  return {{"_class_name", "Krea2Transformer2DModel"},
          {"in_channels", shapes.size("first.weight", 1)},
          {"num_layers", shapes.count("blocks.")},
          {"attention_head_dim", head_dim},
          {"num_attention_heads", shapes.size("first.weight", 0) / head_dim},
          {"num_key_value_heads", shapes.size(block + "attn.wk.weight", 0) / head_dim},
          {"intermediate_size", shapes.size(block + "mlp.gate.weight", 0)},
          {"timestep_embed_dim", shapes.size("tmlp.0.weight", 1)},
          {"text_hidden_dim", shapes.size("txtmlp.1.weight", 1)},
          {"num_text_layers", shapes.size("txtfusion.projector.weight", -1)},
          {"text_num_attention_heads", shapes.size("txtmlp.1.weight", 1) / text_head_dim},
          {"text_num_key_value_heads", shapes.size(text + "0.attn.wk.weight", 0) / text_head_dim},
          {"text_intermediate_size", shapes.size(text + "0.mlp.gate.weight", 0)},
          {"num_layerwise_text_blocks", shapes.count(text)},
          {"num_refiner_text_blocks", shapes.count("txtfusion.refiner_blocks.")},
          {"axes_dims_rope", krea2_axes(head_dim)}};
}

}  // namespace omnirt
