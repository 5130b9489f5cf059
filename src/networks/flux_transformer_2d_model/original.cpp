#include "networks/flux_transformer_2d_model/original.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

// Projections that are stacked in one matrix.
void add_stacked(Rules& rules, const std::vector<std::string>& projections,
                 const std::string& original) {
  for (size_t i = 0; i < projections.size(); ++i)
    rules.push_back({projections[i], original, nn::Form::rows, i, projections.size()});
}

// A stream's layers in a first block: "img" or "txt".
Rules flux_stream(const std::string& stream, const std::vector<std::string>& projections,
                  const std::string& suffix, const std::string& added, const std::string& out) {
  Rules rules;
  add_stacked(rules, projections, stream + "_attn.qkv");
  rules.push_back({"norm1" + suffix + ".linear", stream + "_mod.lin"});
  rules.push_back({"attn.norm_" + added + "q.weight", stream + "_attn.norm.query_norm.scale"});
  rules.push_back({"attn.norm_" + added + "k.weight", stream + "_attn.norm.key_norm.scale"});
  rules.push_back({"attn." + out, stream + "_attn.proj"});
  rules.push_back({"ff" + suffix + ".net.0.proj", stream + "_mlp.0"});
  rules.push_back({"ff" + suffix + ".net.2", stream + "_mlp.2"});
  return rules;
}

const std::vector<std::string>& image_projections() {
  static const std::vector<std::string> names{"attn.to_q", "attn.to_k", "attn.to_v"};
  return names;
}

const std::vector<std::string>& text_projections() {
  static const std::vector<std::string> names{"attn.add_q_proj", "attn.add_k_proj",
                                              "attn.add_v_proj"};
  return names;
}

nn::LayoutRule flux_blocks(const std::string& ours, const std::string& theirs, Rules within) {
  return {ours, theirs, nn::Form::same,
          0,    1,      {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

// The perceptron's first matrix is as large as four projections, and follows three.
Rules flux_single() {
  constexpr size_t parts = 7, perceptron = 4;
  Rules rules;
  for (size_t i = 0; i < image_projections().size(); ++i)
    rules.push_back({image_projections()[i], "linear1", nn::Form::rows, i, parts});
  rules.push_back(
      {"proj_mlp", "linear1", nn::Form::rows, parts - perceptron, parts, {}, perceptron});
  rules.push_back({"norm.linear", "modulation.lin"});
  rules.push_back({"proj_out", "linear2"});
  rules.push_back({"attn.norm_q.weight", "norm.query_norm.scale"});
  rules.push_back({"attn.norm_k.weight", "norm.key_norm.scale"});
  return rules;
}

}  // namespace

nn::OriginalLayout flux_original_layout() {
  Rules first = flux_stream("img", image_projections(), "", "", "to_out.0");
  Rules text = flux_stream("txt", text_projections(), "_context", "added_", "to_add_out");
  first.insert(first.end(), text.begin(), text.end());
  Rules embedder{{"linear_1", "in_layer"}, {"linear_2", "out_layer"}};
  auto embedded = [&](const std::string& ours, const char* theirs) {
    return nn::LayoutRule{"time_text_embed." + ours, theirs, nn::Form::same, 0, 1, embedder};
  };
  return {"flux",
          {{"x_embedder", "img_in"},
           {"context_embedder", "txt_in"},
           embedded("timestep_embedder", "time_in"),
           embedded("guidance_embedder", "guidance_in"),
           embedded("text_embedder", "vector_in"),
           flux_blocks("transformer_blocks", "double_blocks", std::move(first)),
           flux_blocks("single_transformer_blocks", "single_blocks", flux_single()),
           {"norm_out.linear", "final_layer.adaLN_modulation.1", nn::Form::swapped},
           {"proj_out", "final_layer.linear"}}};
}

nn::OriginalLayout flux_xlabs_layout() {
  Rules first{{"attn.to_out.0", "proj_lora1"}, {"attn.to_add_out", "proj_lora2"}};
  add_stacked(first, image_projections(), "qkv_lora1");
  add_stacked(first, text_projections(), "qkv_lora2");
  // "processor.qkv_lora" and "processor.proj_lora" in files, of which attention processors' first
  // word and ending are removed before a layer is looked up.
  Rules single{{"proj_out", "proj"}};
  add_stacked(single, image_projections(), "qkv");
  return {"xlabs",
          {flux_blocks("transformer_blocks", "double_blocks", std::move(first)),
           flux_blocks("single_transformer_blocks", "single_blocks", std::move(single))}};
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
