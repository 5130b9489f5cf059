#include "networks/gemma2_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"

namespace omnirt {
namespace {

constexpr const char* layer_class = "Gemma2DecoderLayer";

std::unique_ptr<nn::Network> make_gemma2(const Json& json, const std::string& where) {
  return std::make_unique<Gemma2Model>(read_gemma2_config(json, where), json);
}

nn::NetworkInfo info_of(std::string class_name, std::string summary) {
  return {.class_name = std::move(class_name),
          .make = make_gemma2,
          .summary = std::move(summary),
          .weights_base = "model",
          .role = "text_encoder"};
}

}  // namespace

// Its parameters have no prefix.
Gemma2Model::Gemma2Model(const Gemma2Config& config, Json json)
    : Network(std::move(json)),
      model(this, "", config.vocab_size, config.options(), layer_class),
      config_(config) {}

nn::Metadata Gemma2Model::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {layer_class}, .repeated_blocks = {layer_class}});
}

nn::WeightMap Gemma2Model::weight_map() const {
  return {.renames = {{"model.", "", /*at_start=*/true}}, .ignored = {"lm_head.weight"}};
}

std::vector<Tensor> Gemma2Model::hidden_states(Context& cx, const Tensor& input_ids,
                                               const Tensor* mask,
                                               const std::vector<int64_t>& chosen) const {
  nn::check_token_ids(cx, input_ids, vocab_size());
  return model.hidden_states(cx, input_ids, mask, chosen);
}

const nn::NetworkInfo& gemma2_model_info() {
  static const nn::NetworkInfo info = info_of("Gemma2Model", "Gemma 2 as a text encoder");
  return info;
}

const nn::NetworkInfo& gemma2_for_causal_lm_info() {
  static const nn::NetworkInfo info =
      info_of("Gemma2ForCausalLM", "Gemma 2 as a text encoder, with a head that is not read");
  return info;
}

}  // namespace omnirt
