#include "networks/flux2_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

// A stream's layers in a first block: "img" or "txt".
Rules stream_rules(const std::string& stream, const std::vector<std::string>& projections,
                   const std::string& query_norm, const std::string& key_norm,
                   const std::string& out, const std::string& perceptron) {
  Rules rules;
  for (size_t i = 0; i < projections.size(); ++i) {
    rules.push_back(
        {"attn." + projections[i], stream + "_attn.qkv", nn::Form::rows, i, projections.size()});
  }
  rules.push_back({"attn." + query_norm + ".weight", stream + "_attn.norm.query_norm.scale"});
  rules.push_back({"attn." + key_norm + ".weight", stream + "_attn.norm.key_norm.scale"});
  rules.push_back({"attn." + out, stream + "_attn.proj"});
  rules.push_back({perceptron + ".linear_in", stream + "_mlp.0"});
  rules.push_back({perceptron + ".linear_out", stream + "_mlp.2"});
  return rules;
}

nn::LayoutRule blocks(const std::string& ours, const std::string& theirs, Rules within) {
  return {ours, theirs, nn::Form::same,
          0,    1,      {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

Rules first_blocks() {
  Rules image = stream_rules("img", {"to_q", "to_k", "to_v"}, "norm_q", "norm_k", "to_out.0", "ff");
  Rules text = stream_rules("txt", {"add_q_proj", "add_k_proj", "add_v_proj"}, "norm_added_q",
                            "norm_added_k", "to_add_out", "ff_context");
  image.insert(image.end(), text.begin(), text.end());
  return image;
}

}  // namespace

nn::OriginalLayout flux2_original_layout() {
  Rules single{{"attn.to_qkv_mlp_proj", "linear1"},
               {"attn.to_out", "linear2"},
               {"attn.norm_q.weight", "norm.query_norm.scale"},
               {"attn.norm_k.weight", "norm.key_norm.scale"}};
  Rules embedder{{"linear_1", "in_layer"}, {"linear_2", "out_layer"}};
  auto within = [](const char* ours, const char* theirs, const Rules& rules) {
    return nn::LayoutRule{ours, theirs, nn::Form::same, 0, 1, rules};
  };
  return {"flux2",
          {{"x_embedder", "img_in"},
           {"context_embedder", "txt_in"},
           within("time_guidance_embed.timestep_embedder", "time_in", embedder),
           within("time_guidance_embed.guidance_embedder", "guidance_in", embedder),
           {"double_stream_modulation_img.linear", "double_stream_modulation_img.lin"},
           {"double_stream_modulation_txt.linear", "double_stream_modulation_txt.lin"},
           {"single_stream_modulation.linear", "single_stream_modulation.lin"},
           blocks("transformer_blocks", "double_blocks", first_blocks()),
           blocks("single_transformer_blocks", "single_blocks", single),
           {"norm_out.linear", "final_layer.adaLN_modulation.1", nn::Form::swapped},
           {"proj_out", "final_layer.linear"}}};
}

Json flux2_original_config(const std::map<std::string, std::vector<int64_t>>& all,
                           const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("single_stream_modulation.lin.weight") || !shapes.has("txt_in.weight")) return {};
  constexpr int64_t head_dim = 128;  // of all that were released
  int64_t dim = shapes.size("img_in.weight", 0);
  int64_t head = shapes.size("single_blocks.0.norm.query_norm.scale", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  int64_t mlp = shapes.size("double_blocks.0.img_mlp.2.weight", 1);
  return {{"_class_name", "Flux2Transformer2DModel"},
          {"in_channels", shapes.size("img_in.weight", 1)},
          {"out_channels", shapes.size("final_layer.linear.weight", 0)},
          {"num_layers", shapes.count("double_blocks.")},
          {"num_single_layers", shapes.count("single_blocks.")},
          {"num_attention_heads", dim / head_dim},
          {"joint_attention_dim", shapes.size("txt_in.weight", 1)},
          {"timestep_guidance_channels", shapes.size("time_in.in_layer.weight", 1)},
          {"mlp_ratio", static_cast<double>(mlp) / static_cast<double>(dim)},
          {"guidance_embeds", shapes.has("guidance_in.in_layer.weight")}};
}

}  // namespace omnirt
