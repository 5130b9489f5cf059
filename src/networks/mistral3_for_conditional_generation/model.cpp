#include "networks/mistral3_for_conditional_generation/model.hpp"

#include "networks/mistral3_for_conditional_generation/from_tensors.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"

namespace omnirt {
namespace {

constexpr const char* mistral3_layer_class = "MistralDecoderLayer";

// Pixtral's tower and the projector behind it (transformers modeling_pixtral.py), and the head.
std::vector<std::string> mistral3_names_left_out(int64_t vision_layers) {
  std::vector<std::string> names{"vision_tower.patch_conv.weight",
                                 "vision_tower.ln_pre.weight",
                                 "multi_modal_projector.norm.weight",
                                 "multi_modal_projector.patch_merger.merging_layer.weight",
                                 "multi_modal_projector.linear_1.weight",
                                 "multi_modal_projector.linear_1.bias",
                                 "multi_modal_projector.linear_2.weight",
                                 "multi_modal_projector.linear_2.bias"};
  for (int64_t i = 0; i < vision_layers; ++i) {
    const std::string layer = "vision_tower.transformer.layers." + std::to_string(i) + ".";
    for (const char* part : {"attention.q_proj", "attention.k_proj", "attention.v_proj",
                             "attention.o_proj", "attention_norm", "feed_forward.gate_proj",
                             "feed_forward.up_proj", "feed_forward.down_proj", "ffn_norm"})
      names.push_back(layer + part + ".weight");
  }
  // ComfyUI's files hold the tokenizer, too.
  std::vector<std::string> all{"lm_head.weight", "language_model.lm_head.weight", "tekken_model"};
  for (const std::string& name : names) {
    all.push_back(name);
    all.push_back("model." + name);
  }
  return all;
}

}  // namespace

Mistral3Model::Mistral3Model(nn::Module* parent, const std::string& name,
                             const Mistral3Config& config)
    : Module(parent, name),
      language_model(this, "language_model", config.text.vocab_size, config.text.options(),
                     mistral3_layer_class) {}

Mistral3ForConditionalGeneration::Mistral3ForConditionalGeneration(const Mistral3Config& config,
                                                                   Json json)
    : Network(std::move(json)), model(this, "model", config), config_(config) {}

nn::Metadata Mistral3ForConditionalGeneration::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {mistral3_layer_class},
                                      .repeated_blocks = {mistral3_layer_class}});
}

// Files keep the names from before transformers 4.52 (its _checkpoint_conversion_mapping), or are
// of the language model alone.
nn::WeightMap Mistral3ForConditionalGeneration::weight_map() const {
  return {.renames = {{"language_model.model.", "model.language_model.", true},
                      {"model.layers.", "model.language_model.layers.", true},
                      {"model.embed_tokens.", "model.language_model.embed_tokens.", true},
                      {"model.norm.", "model.language_model.norm.", true}},
          .ignored = mistral3_names_left_out(config_.vision_layers)};
}

std::vector<nn::OriginalLayout> Mistral3ForConditionalGeneration::original_layouts() const {
  return {mistral3_llama_layout(config_.text.options())};
}

std::vector<Tensor> Mistral3ForConditionalGeneration::hidden_states(
    Context& cx, const Tensor& input_ids, const Tensor* mask,
    const std::vector<int64_t>& chosen) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return model.language_model.hidden_states(cx, input_ids, mask, chosen);
}

const nn::NetworkInfo& mistral3_for_conditional_generation_info() {
  static const nn::NetworkInfo info{
      .class_name = "Mistral3ForConditionalGeneration",
      .make = nn::network_of<Mistral3ForConditionalGeneration, read_mistral3_config>,
      .summary = "Mistral Small 3 as a text encoder",
      .weights_base = "model",
      .role = "text_encoder",
      .from_tensors = {.signs = "a Mistral 3 (model.layers.* or, as llama.cpp names it, blk.*, "
                                "without biases and norms of heads)",
                       .config = mistral3_config_from_tensors,
                       .layout = mistral3_layout_of},
      .gguf = {{"blk.0.attn_q.", "llama"}},
  };
  return info;
}

}  // namespace omnirt
