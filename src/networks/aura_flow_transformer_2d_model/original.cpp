#include "networks/aura_flow_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

nn::LayoutRule each(const std::string& name, const std::string& original, Rules within) {
  return {name, original, nn::Form::same,
          0,    1,        {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

void add_perceptron(Rules& rules, const std::string& ours, const std::string& theirs) {
  rules.push_back({ours + ".linear_1", theirs + ".c_fc1"});
  rules.push_back({ours + ".linear_2", theirs + ".c_fc2"});
  rules.push_back({ours + ".out_projection", theirs + ".c_proj"});
}

Rules joint_rules() {
  Rules rules{{"norm1.linear", "modX.1"},      {"norm1_context.linear", "modC.1"},
              {"attn.to_q", "attn.w2q"},       {"attn.to_k", "attn.w2k"},
              {"attn.to_v", "attn.w2v"},       {"attn.to_out.0", "attn.w2o"},
              {"attn.add_q_proj", "attn.w1q"}, {"attn.add_k_proj", "attn.w1k"},
              {"attn.add_v_proj", "attn.w1v"}, {"attn.to_add_out", "attn.w1o"}};
  add_perceptron(rules, "ff", "mlpX");
  add_perceptron(rules, "ff_context", "mlpC");
  return rules;
}

Rules single_rules() {
  Rules rules{{"norm1.linear", "modCX.1"},
              {"attn.to_q", "attn.w1q"},
              {"attn.to_k", "attn.w1k"},
              {"attn.to_v", "attn.w1v"},
              {"attn.to_out.0", "attn.w1o"}};
  add_perceptron(rules, "ff", "mlp");
  return rules;
}

}  // namespace

nn::OriginalLayout aura_flow_original_layout() {
  return {"aura_flow",
          {{"register_tokens", "register_tokens"},
           {"time_step_proj.linear_1", "t_embedder.mlp.0"},
           {"time_step_proj.linear_2", "t_embedder.mlp.2"},
           {"context_embedder", "cond_seq_linear"},
           each("joint_transformer_blocks", "double_layers", joint_rules()),
           each("single_transformer_blocks", "single_layers", single_rules()),
           {"norm_out.linear", "modF.1", nn::Form::swapped},
           {"proj_out", "final_linear"},
           {"pos_embed.pos_embed", "positional_encoding"},
           {"pos_embed.proj", "init_x_linear"}}};
}

Json aura_flow_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                               const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("double_layers.0.attn.w2q.weight") || !shapes.has("init_x_linear.weight"))
    return {};
  constexpr int64_t head_dim = 256, patch = 4;  // of all that were released
  const int64_t dim = shapes.size("init_x_linear.weight", 0);
  if (dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(dim), "no multiple of 256, the width of a head",
                       "give a folder with the model's config.json"});
  }
  return {{"_class_name", "AuraFlowTransformer2DModel"},
          {"in_channels", shapes.size("init_x_linear.weight", 1) / patch},
          {"out_channels", shapes.size("final_linear.weight", 0) / patch},
          {"num_mmdit_layers", shapes.count("double_layers.")},
          {"num_single_dit_layers", shapes.count("single_layers.")},
          {"num_attention_heads", dim / head_dim},
          {"joint_attention_dim", shapes.size("cond_seq_linear.weight", 1)},
          {"caption_projection_dim", dim},
          {"pos_embed_max_size", shapes.size("positional_encoding", 1)}};
}

}  // namespace omnirt
