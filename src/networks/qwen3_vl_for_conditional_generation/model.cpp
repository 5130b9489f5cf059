#include "networks/qwen3_vl_for_conditional_generation/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/token_ids.hpp"

namespace omnirt {
namespace {

constexpr const char* qwen3_vl_layer_class = "Qwen3VLTextDecoderLayer";

// The names of the vision tower's weights (transformers Qwen3VLVisionModel), and the head's.
std::vector<std::string> qwen3_vl_names_left_out(const Qwen3VLConfig& config) {
  std::vector<std::string> modules{"patch_embed.proj"}, names{"pos_embed.weight"};
  auto merger = [&](const std::string& name) {
    for (const char* part : {".norm", ".linear_fc1", ".linear_fc2"}) modules.push_back(name + part);
  };
  merger("merger");
  for (int64_t i = 0; i < config.vision_taps; ++i)
    merger("deepstack_merger_list." + std::to_string(i));
  for (int64_t i = 0; i < config.vision_layers; ++i) {
    for (const char* part :
         {"norm1", "norm2", "attn.qkv", "attn.proj", "mlp.linear_fc1", "mlp.linear_fc2"})
      modules.push_back("blocks." + std::to_string(i) + "." + part);
  }
  for (const std::string& module : modules) {
    names.push_back(module + ".weight");
    names.push_back(module + ".bias");
  }
  std::vector<std::string> all{"lm_head.weight"};
  for (const std::string& name : names) {
    all.push_back("visual." + name);
    all.push_back("model.visual." + name);
  }
  return all;
}

template <class Made>
nn::NetworkInfo qwen3_vl_info_of(const char* class_name, const char* summary) {
  return {.class_name = class_name,
          .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
            return std::make_unique<Made>(read_qwen3_vl_config(json, where), json);
          },
          .summary = summary,
          .weights_base = "model",
          .role = "text_encoder"};
}

}  // namespace

Qwen3VLParts::Qwen3VLParts(nn::Module* parent, const std::string& name, const Qwen3VLConfig& config)
    : Module(parent, name),
      language_model(this, "language_model", config.text.vocab_size, config.text.options(),
                     qwen3_vl_layer_class) {}

Qwen3VLForConditionalGeneration::Qwen3VLForConditionalGeneration(const Qwen3VLConfig& config,
                                                                 Json json)
    : Network(std::move(json)), model(this, "model", config), config_(config) {}

nn::Metadata Qwen3VLForConditionalGeneration::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {qwen3_vl_layer_class},
                                      .repeated_blocks = {qwen3_vl_layer_class}});
}

nn::WeightMap Qwen3VLForConditionalGeneration::weight_map() const {
  return {.renames = {{"language_model.", "model.language_model.", true}},
          .ignored = qwen3_vl_names_left_out(config_)};
}

std::vector<Tensor> Qwen3VLForConditionalGeneration::hidden_states(
    Context& cx, const Tensor& input_ids, const Tensor* mask, const std::vector<int64_t>& chosen,
    const Tensor* positions) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return model.language_model.hidden_states(cx, input_ids, mask, chosen, positions);
}

std::vector<Tensor> Qwen3VLForConditionalGeneration::states(Context& cx, const Tensor& input_ids,
                                                            const nn::TextDecoderCall& call) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  const Tensor embedded = model.language_model.embed_tokens.forward(cx, input_ids);
  return model.language_model.states_of(cx, embedded, call);
}

const nn::NetworkInfo& qwen3_vl_for_conditional_generation_info() {
  static const nn::NetworkInfo info = qwen3_vl_info_of<Qwen3VLForConditionalGeneration>(
      "Qwen3VLForConditionalGeneration", "Qwen3-VL as a text encoder");
  return info;
}

const nn::NetworkInfo& qwen3_vl_model_info() {
  static const nn::NetworkInfo info = qwen3_vl_info_of<Qwen3VLModel>(
      "Qwen3VLModel", "Qwen3-VL as a text encoder, saved without its head");
  return info;
}

}  // namespace omnirt
