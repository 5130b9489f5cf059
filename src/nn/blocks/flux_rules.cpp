#include "nn/blocks/flux_rules.hpp"

namespace omnirt::nn {
namespace {

using Rules = std::vector<LayoutRule>;

// Projections that are stacked in one matrix.
void add_stacked(Rules& rules, const std::vector<std::string>& projections,
                 const std::string& original) {
  for (size_t i = 0; i < projections.size(); ++i)
    rules.push_back({projections[i], original, Form::rows, i, projections.size()});
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

LayoutRule flux_blocks(const std::string& ours, const std::string& theirs, Rules within) {
  return {ours, theirs, Form::same, 0, 1, {{"*", "*", Form::same, 0, 1, std::move(within)}}};
}

// The perceptron's first matrix is as large as four projections, and follows three.
Rules flux_single() {
  constexpr size_t parts = 7, perceptron = 4;
  Rules rules;
  for (size_t i = 0; i < image_projections().size(); ++i)
    rules.push_back({image_projections()[i], "linear1", Form::rows, i, parts});
  rules.push_back({"proj_mlp", "linear1", Form::rows, parts - perceptron, parts, {}, perceptron});
  rules.push_back({"norm.linear", "modulation.lin"});
  rules.push_back({"proj_out", "linear2"});
  rules.push_back({"attn.norm_q.weight", "norm.query_norm.scale"});
  rules.push_back({"attn.norm_k.weight", "norm.key_norm.scale"});
  return rules;
}

}  // namespace

std::vector<LayoutRule> flux_rules() {
  Rules first = flux_stream("img", image_projections(), "", "", "to_out.0");
  Rules text = flux_stream("txt", text_projections(), "_context", "added_", "to_add_out");
  first.insert(first.end(), text.begin(), text.end());
  return {flux_blocks("transformer_blocks", "double_blocks", std::move(first)),
          flux_blocks("single_transformer_blocks", "single_blocks", flux_single())};
}

std::vector<LayoutRule> flux_xlabs_rules() {
  Rules first{{"attn.to_out.0", "proj_lora1"}, {"attn.to_add_out", "proj_lora2"}};
  add_stacked(first, image_projections(), "qkv_lora1");
  add_stacked(first, text_projections(), "qkv_lora2");
  // "processor.qkv_lora" and "processor.proj_lora" in files, of which attention processors' first
  // word and ending are removed before a layer is looked up.
  Rules single{{"proj_out", "proj"}};
  add_stacked(single, image_projections(), "qkv");
  return {flux_blocks("transformer_blocks", "double_blocks", std::move(first)),
          flux_blocks("single_transformer_blocks", "single_blocks", std::move(single))};
}

}  // namespace omnirt::nn
