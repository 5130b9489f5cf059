#include "networks/krea2_transformer_2d_model/original.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

nn::LayoutRule krea2_blocks(const std::string& ours, const std::string& theirs) {
  Rules within{{"attn.to_q", "attn.wq"},
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
           {"final_layer.scale_shift_table", "last.modulation.lin"}}};
}

}  // namespace omnirt
