#include "networks/t5_encoder_model/model.hpp"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>

#include "nn/feature_metadata.hpp"

namespace omnirt {
namespace {

// Values are looked at where that does not wait for a device.
void check_ids(const Context& cx, const Tensor& ids, int64_t vocab_size) {
  if (cx.dry() || !ids.is_cpu() || ids.numel() == 0) return;
  auto [lowest, highest] = at::aminmax(ids);
  int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low >= 0 && high < vocab_size) return;
  throw InvalidRequest({"input_ids", fmt::format("{}", low < 0 ? low : high),
                        fmt::format("the text encoder's vocabulary has {} entries", vocab_size),
                        "use the tokenizer that belongs to this text encoder"});
}

}  // namespace

T5EncoderModel::T5EncoderModel(const T5Config& config, Json json)
    : Network(std::move(json)),
      shared(this, "shared", config.vocab_size, config.d_model),
      encoder(this, "encoder", config),
      config_(config) {}

nn::Metadata T5EncoderModel::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"T5Block"}, .repeated_blocks = {"T5Block"}});
}

nn::WeightMap T5EncoderModel::weight_map() const {
  // Files can hold the embeddings under both of their names.
  return {.renames = {}, .ignored = {"encoder.embed_tokens.weight"}};
}

Tensor T5EncoderModel::forward(Context& cx, const Tensor& input_ids, const Tensor* mask) const {
  check_ids(cx, input_ids, vocab_size());
  return encoder.forward(cx, shared.forward(cx, input_ids), mask);
}

const nn::NetworkInfo& t5_encoder_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "T5EncoderModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<T5EncoderModel>(read_t5_config(json, where), json);
      },
      .summary = "the encoder of T5",
      .weights_base = "model",
      .role = "text_encoder",
  };
  return info;
}

}  // namespace omnirt
