#include "networks/flux3_transformer_2d_model/original.hpp"

#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Flux3Rules = std::vector<nn::LayoutRule>;

nn::LayoutRule flux3_rule(const char* ours, const char* theirs, Flux3Rules within) {
  return {ours, theirs, nn::Form::same, 0, 1, std::move(within)};
}

// Blocks of both kinds have the same layers.
Flux3Rules flux3_block() {
  return {flux3_rule("*", "*",
                     {{"attn.to_q", "q_proj"},
                      {"attn.to_k", "k_proj"},
                      {"attn.to_v", "v_proj"},
                      {"attn.to_out.0", "attn_out"},
                      {"attn.norm_q.weight", "norm.query_norm.scale"},
                      {"attn.norm_k.weight", "norm.key_norm.scale"},
                      {"ff.linear_in", "mlp_in"},
                      {"ff.linear_out", "mlp_out"}})};
}

}  // namespace

nn::OriginalLayout flux3_original_layout() {
  const Flux3Rules embedder{{"linear_1", "in_layer"}, {"linear_2", "out_layer"}};
  const Flux3Rules each{flux3_rule("*", "*", {{"linear", "lin"}})};
  return {"flux3",
          {{"x_embedders", "emb_in"},
           {"context_embedder", "txt_in"},
           flux3_rule("timestep_embedder", "time_in", embedder),
           flux3_rule("target_timestep_embedder", "ref_time_in", embedder),
           flux3_rule("early_stream_modulations", "early_stream_modulations", each),
           flux3_rule("single_stream_modulations", "single_stream_modulations", each),
           flux3_rule("mode_blocks", "content_mode_blocks", {flux3_rule("*", "*", flux3_block())}),
           flux3_rule("txt_mode_blocks", "txt_mode_blocks", flux3_block()),
           flux3_rule("single_transformer_blocks", "single_blocks", flux3_block()),
           {"norm_out.linear", "final_layer.image.adaLN_modulation.1", nn::Form::swapped},
           {"proj_out", "final_layer.image.linear"}},
          {"repa_projectors"}};
}

Json flux3_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                           const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("emb_in.image.weight") || !shapes.has("txt_in.weight")) return {};
  constexpr int64_t head_dim = 128;  // of all that were released
  const int64_t dim = shapes.size("emb_in.image.weight", 0);
  const int64_t head = shapes.size("single_blocks.0.norm.query_norm.scale", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  const int64_t mlp = shapes.size("single_blocks.0.mlp_out.weight", 1);
  return {{"_class_name", "Flux3Transformer2DModel"},
          {"in_channels", shapes.size("emb_in.image.weight", 1)},
          {"cond_in_channels", shapes.size("emb_in.image_cond.weight", 1)},
          {"num_layers", shapes.count("txt_mode_blocks.")},
          {"num_single_layers", shapes.count("single_blocks.")},
          {"num_attention_heads", dim / head_dim},
          {"joint_attention_dim", shapes.size("txt_in.weight", 1)},
          {"timestep_channels", shapes.size("time_in.in_layer.weight", 1)},
          {"mlp_ratio", static_cast<double>(mlp) / static_cast<double>(dim)},
          {"flow_map", shapes.has("ref_time_in.in_layer.weight")}};
}

}  // namespace omnirt
