#include "networks/sd3_transformer_2d_model/original.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

// `added`, `out`: how the projections of the stream are called.
void add_sd3_attention(Rules& rules, const std::string& ours, const std::string& theirs,
                       const std::vector<std::string>& projections, const std::string& added,
                       const std::string& out) {
  for (size_t i = 0; i < projections.size(); ++i) {
    rules.push_back(
        {ours + "." + projections[i], theirs + ".qkv", nn::Form::rows, i, projections.size()});
  }
  rules.push_back({ours + ".norm_" + added + "q", theirs + ".ln_q"});
  rules.push_back({ours + ".norm_" + added + "k", theirs + ".ln_k"});
  rules.push_back({ours + "." + out, theirs + ".proj"});
}

Rules sd3_block(bool last) {
  const std::vector<std::string> image{"to_q", "to_k", "to_v"};
  const std::vector<std::string> text{"add_q_proj", "add_k_proj", "add_v_proj"};
  Rules rules;
  add_sd3_attention(rules, "attn", "x_block.attn", image, "", "to_out.0");
  add_sd3_attention(rules, "attn2", "x_block.attn2", image, "", "to_out.0");
  add_sd3_attention(rules, "attn", "context_block.attn", text, "added_", "to_add_out");
  rules.push_back({"norm1.linear", "x_block.adaLN_modulation.1"});
  rules.push_back({"norm1_context.linear", "context_block.adaLN_modulation.1",
                   last ? nn::Form::swapped : nn::Form::same});
  rules.push_back({"ff.net.0.proj", "x_block.mlp.fc1"});
  rules.push_back({"ff.net.2", "x_block.mlp.fc2"});
  rules.push_back({"ff_context.net.0.proj", "context_block.mlp.fc1"});
  rules.push_back({"ff_context.net.2", "context_block.mlp.fc2"});
  return rules;
}

Json dual_layers(const TensorShapes& shapes, int64_t layers) {
  Json dual = Json::array();
  for (int64_t i = 0; i < layers; ++i) {
    if (shapes.has(fmt::format("joint_blocks.{}.x_block.attn2.qkv.weight", i))) dual.push_back(i);
  }
  return dual;
}

// The side of the table of positions, which is square.
int64_t table_side(const TensorShapes& shapes) {
  auto entries = static_cast<double>(shapes.size("pos_embed", 1));
  return static_cast<int64_t>(std::llround(std::sqrt(entries)));
}

}  // namespace

nn::OriginalLayout sd3_original_layout(int64_t num_layers) {
  const std::string last = std::to_string(num_layers - 1);
  nn::LayoutRule final_block{last, last, nn::Form::same, 0, 1, sd3_block(/*last=*/true)};
  nn::LayoutRule each{"*", "*", nn::Form::same, 0, 1, sd3_block(/*last=*/false)};
  Rules embedder{{"linear_1", "mlp.0"}, {"linear_2", "mlp.2"}};
  return {"sd3",
          {{"pos_embed.pos_embed", "pos_embed"},
           {"pos_embed.proj", "x_embedder.proj"},
           {"time_text_embed.timestep_embedder", "t_embedder", nn::Form::same, 0, 1, embedder},
           {"time_text_embed.text_embedder", "y_embedder", nn::Form::same, 0, 1, embedder},
           {"context_embedder", "context_embedder"},
           {"transformer_blocks",
            "joint_blocks",
            nn::Form::same,
            0,
            1,
            {std::move(final_block), std::move(each)}},
           {"norm_out.linear", "final_layer.adaLN_modulation.1", nn::Form::swapped},
           {"proj_out", "final_layer.linear"}}};
}

Json sd3_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                         const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("joint_blocks.0.x_block.attn.qkv.weight") ||
      !shapes.has("y_embedder.mlp.0.weight"))
    return {};
  constexpr int64_t head_dim = 64;  // of all that were released
  const std::string norm = "joint_blocks.0.x_block.attn.ln_q.weight";
  int64_t dim = shapes.size("x_embedder.proj.weight", 0);
  int64_t head = shapes.has(norm) ? shapes.size(norm, 0) : head_dim;
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(shapes.has(norm) ? head : dim),
                       "heads of another width than 64",
                       "give a folder with the model's config.json"});
  }
  const int64_t patch = shapes.size("x_embedder.proj.weight", 2);
  const int64_t layers = shapes.count("joint_blocks.");
  Json config = {{"_class_name", "SD3Transformer2DModel"},
                 {"sample_size", 128},
                 {"patch_size", patch},
                 {"in_channels", shapes.size("x_embedder.proj.weight", 1)},
                 {"out_channels", shapes.size("final_layer.linear.weight", 0) / (patch * patch)},
                 {"num_layers", layers},
                 {"attention_head_dim", head_dim},
                 {"num_attention_heads", dim / head_dim},
                 {"joint_attention_dim", shapes.size("context_embedder.weight", 1)},
                 {"caption_projection_dim", shapes.size("context_embedder.weight", 0)},
                 {"pooled_projection_dim", shapes.size("y_embedder.mlp.0.weight", 1)},
                 {"pos_embed_max_size", table_side(shapes)},
                 {"dual_attention_layers", dual_layers(shapes, layers)}};
  if (shapes.has(norm)) config["qk_norm"] = "rms_norm";
  return config;
}

}  // namespace omnirt
