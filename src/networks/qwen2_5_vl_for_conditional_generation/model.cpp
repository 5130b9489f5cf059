#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"

#include "base/ensure.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/from_tensors.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"

namespace omnirt {
namespace {

constexpr const char* qwen2_5_vl_layer_class = "Qwen2_5_VLDecoderLayer";

}  // namespace

Qwen25VLModel::Qwen25VLModel(Module* parent, const std::string& name, const Qwen25VLConfig& config,
                             const char* layer_class)
    : Module(parent, name),
      language_model(this, "language_model", config.text.vocab_size, config.text.options(),
                     layer_class) {
  if (config.vision) visual.emplace(this, "visual", *config.vision);
}

Qwen25VLForConditionalGeneration::Qwen25VLForConditionalGeneration(const Qwen25VLConfig& config,
                                                                   Json json)
    : Network(std::move(json)),
      model(this, "model", config, qwen2_5_vl_layer_class),
      config_(config) {}

nn::Metadata Qwen25VLForConditionalGeneration::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {qwen2_5_vl_layer_class, "Qwen2_5_VLVisionBlock"},
              .repeated_blocks = {qwen2_5_vl_layer_class, "Qwen2_5_VLVisionBlock"}});
}

// Files keep the names from before transformers 4.52 (its _checkpoint_conversion_mapping).
nn::WeightMap Qwen25VLForConditionalGeneration::weight_map() const {
  return {.renames = {{"visual.", "model.visual.", true},
                      {"model.layers.", "model.language_model.layers.", true},
                      {"model.embed_tokens.", "model.language_model.embed_tokens.", true},
                      {"model.norm.", "model.language_model.norm.", true}},
          .ignored = {"lm_head.weight"}};
}

std::vector<nn::OriginalLayout> Qwen25VLForConditionalGeneration::original_layouts() const {
  return {qwen2_5_vl_llama_layout()};
}

Tensor Qwen25VLForConditionalGeneration::last_state(Context& cx, const Tensor& input_ids,
                                                    const Tensor* mask) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return model.language_model.hidden_states(cx, input_ids, mask, {config_.text.num_hidden_layers})
      .front();
}

Tensor Qwen25VLForConditionalGeneration::last_state(Context& cx, const Tensor& input_ids,
                                                    const Tensor& image_tokens,
                                                    const std::vector<nn::ImageSpan>& spans) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  const Tensor embedded = model.language_model.embed_tokens.forward(cx, input_ids);
  const Tensor all = nn::placed_at(cx, embedded, image_tokens, spans);
  return model.language_model.states_of(cx, all, {.chosen = {config_.text.num_hidden_layers}})
      .front();
}

Tensor Qwen25VLForConditionalGeneration::image_tokens(Context& cx, const Tensor& patches,
                                                      const Tensor& positions,
                                                      const VisionWindows& windows) const {
  ensure(model.visual.has_value(), "the weights have no vision tower");
  return model.visual->forward(cx, patches, positions, windows);
}

const nn::NetworkInfo& qwen2_5_vl_for_conditional_generation_info() {
  static const nn::NetworkInfo info{
      .class_name = "Qwen2_5_VLForConditionalGeneration",
      .make = nn::network_of<Qwen25VLForConditionalGeneration, read_qwen2_5_vl_config>,
      .summary = "Qwen2.5-VL as a text encoder",
      .weights_base = "model",
      .role = "text_encoder",
      .from_tensors = {.signs = "a Qwen2.5-VL (model.layers.* with biases of the attention or, as "
                                "llama.cpp names it, blk.*)",
                       .config = qwen2_5_vl_config_from_tensors,
                       .layout = qwen2_5_vl_layout_of},
      .gguf = {{"blk.0.attn_q.bias", "qwen2vl"}},
  };
  return info;
}

}  // namespace omnirt
