#pragma once
#include <optional>

#include "networks/qwen2_5_vl_for_conditional_generation/config.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/vision.hpp"
#include "nn/blocks/image_spans.hpp"
#include "nn/blocks/text_decoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

// The checkpoint's "model": names as in transformers since 4.52; files say "model.layers"
// and "visual", which the weight map turns into these.
class Qwen25VLModel final : public nn::Module {
 public:
  Qwen25VLModel(Module* parent, const std::string& name, const Qwen25VLConfig& config,
                const char* layer_class);

  std::optional<Qwen25VisionTransformer> visual;
  nn::TextDecoder language_model;
};

// Qwen2.5-VL (Qwen Team 2025, arXiv 2502.13923; transformers modeling_qwen2_5_vl.py) as a text
// encoder: what its layers make of a prompt. The head that would continue the text is not read.
class Qwen25VLForConditionalGeneration final : public nn::Network {
 public:
  Qwen25VLForConditionalGeneration(const Qwen25VLConfig& config, Json json);
  const char* class_name() const override { return "Qwen2_5_VLForConditionalGeneration"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // input_ids {B, T} int64; mask {B, T}, 0 where a token is padding, or null. The last layer's
  // states, normalised: {B, T, D}. Throws InvalidRequest for an id outside the vocabulary.
  Tensor last_state(Context& cx, const Tensor& input_ids, const Tensor* mask) const;
  // The same of one prompt {1, T} that looks at images: `image_tokens` {1, N, D} of all of them
  // take the places that `spans` name. Places are counted through, as the reference's pipelines
  // have them with transformers 5 (diffusers 0.42 does not say which tokens are an image's).
  Tensor last_state(Context& cx, const Tensor& input_ids, const Tensor& image_tokens,
                    const std::vector<nn::ImageSpan>& spans) const;
  // An image's tokens {1, N, D}, row by row; patches {1, N, K} in the order of `windows`,
  // positions {N, 2} (blocks::VisionInput).
  // Only where the config has a vision tower.
  Tensor image_tokens(Context& cx, const Tensor& patches, const Tensor& positions,
                      const VisionWindows& windows) const;

  int64_t hidden_size() const { return config_.text.hidden_size; }
  int64_t vocab_size() const { return config_.text.vocab_size; }
  int64_t image_token_id() const { return config_.image_token_id; }
  // Null where the weights have no vision tower.
  const Qwen25VLVisionConfig* vision() const { return config_.vision ? &*config_.vision : nullptr; }

  Qwen25VLModel model;

 private:
  Qwen25VLConfig config_;
};

const nn::NetworkInfo& qwen2_5_vl_for_conditional_generation_info();

}  // namespace omnirt
