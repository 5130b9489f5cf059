#include "networks/qwen3_vl_for_conditional_generation/model.hpp"

#include "base/ensure.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"

namespace omnirt {
namespace {

constexpr const char* qwen3_vl_layer_class = "Qwen3VLTextDecoderLayer";
constexpr const char* qwen3_vl_block_class = "Qwen3VLVisionBlock";

template <class Made>
nn::NetworkInfo qwen3_vl_info_of(const char* class_name, const char* summary) {
  return {.class_name = class_name,
          .make = nn::network_of<Made, read_qwen3_vl_config>,
          .summary = summary,
          .weights_base = "model",
          .role = "text_encoder"};
}

}  // namespace

Qwen3VLParts::Qwen3VLParts(nn::Module* parent, const std::string& name, const Qwen3VLConfig& config)
    : Module(parent, name),
      language_model(this, "language_model", config.text.vocab_size, config.text.options(),
                     qwen3_vl_layer_class) {
  if (config.vision) visual.emplace(this, "visual", *config.vision);
}

Qwen3VLForConditionalGeneration::Qwen3VLForConditionalGeneration(const Qwen3VLConfig& config,
                                                                 Json json)
    : Network(std::move(json)), model(this, "model", config), config_(config) {}

nn::Metadata Qwen3VLForConditionalGeneration::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {qwen3_vl_layer_class, qwen3_vl_block_class},
                               .repeated_blocks = {qwen3_vl_layer_class, qwen3_vl_block_class}});
}

nn::WeightMap Qwen3VLForConditionalGeneration::weight_map() const {
  return {.renames = {{"language_model.", "model.language_model.", true},
                      {"visual.", "model.visual.", true}},
          .ignored = {"lm_head.weight"}};
}

std::vector<Tensor> Qwen3VLForConditionalGeneration::hidden_states(
    Context& cx, const Tensor& input_ids, const Tensor* mask, const std::vector<int64_t>& chosen,
    const Tensor* positions) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return model.language_model.hidden_states(cx, input_ids, mask, chosen, positions);
}

std::vector<Tensor> Qwen3VLForConditionalGeneration::states(Context& cx, const Tensor& input_ids,
                                                            const nn::TextDecoderCall& call,
                                                            const Qwen3VLSeen* seen) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  const Tensor embedded = model.language_model.embed_tokens.forward(cx, input_ids);
  if (!seen) return model.language_model.states_of(cx, embedded, call);
  nn::TextDecoderCall looking = call;
  looking.after_layer = [&](int64_t layer, const Tensor& state) {
    const auto tap = static_cast<size_t>(layer) + 1;
    if (tap >= seen->tokens.size()) return state;
    return nn::added_at(cx, state, seen->tokens[tap], seen->spans);
  };
  const Tensor all = nn::placed_at(cx, embedded, seen->tokens.front(), seen->spans);
  return model.language_model.states_of(cx, all, looking);
}

std::vector<Tensor> Qwen3VLForConditionalGeneration::image_tokens(
    Context& cx, const Qwen3VLVisionInput& image) const {
  ensure(model.visual.has_value(), "the weights have no vision tower");
  return model.visual->forward(cx, image);
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
