#pragma once
#include "blocks/slots.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/embeds_file.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

// Prompts that come encoded, in place of texts (reference: prompt_embeds and the like of
// StableDiffusionPipeline.__call__ and StableDiffusionXLPipeline.__call__).
template <>
struct omnirt::ValueCodec<omnirt::GivenEmbeds> {
  static constexpr const char* type = "given embeddings";
  static SavedValue save(const GivenEmbeds& value);
  static GivenEmbeds load(const SavedValue& saved, const Catalogue& catalogue);
};

namespace omnirt::blocks {

inline constexpr Slot<GivenEmbeds> encoded_prompt{
    "encoded_prompt",
    "what the prompt means, in a safetensors file: prompt_embeds, negative_prompt_embeds, and for "
    "sdxl pooled_prompt_embeds, negative_pooled_prompt_embeds"};

// The request brings prompts that are encoded.
Trigger has_encoded_prompt();

// StartNoise, where the file says how many prompts there are.
class StartNoiseOfEncoded final : public Block {
 public:
  Input<GivenEmbeds> encoded{this, encoded_prompt};
  Config<int64_t> num_images{this, keys::num_images_per_prompt};
  Config<int64_t> seed{this, keys::seed};
  Output<std::vector<std::string>> prompt{this, slots::prompt};  // nothing, for each
  Output<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};

  StartNoiseOfEncoded()
      : Block("start_noise_of_encoded", Stage::prepare_conditions, Guidance::shared,
              has_encoded_prompt()) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

// What the file holds, one row per image, for each condition that the guider asks for.
class TakeEncodedPrompt : public Block {
 public:
  Component<UNet2DConditionModel> unet{this, "unet"};
  Input<GivenEmbeds> encoded{this, encoded_prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  TakeEncodedPrompt()
      : Block("take_encoded_prompt", Stage::prepare_conditions, Guidance::per_condition,
              has_encoded_prompt()) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 protected:
  // The tensor of this name, or with negative_ before it; one row per image.
  Tensor rows_of(Frame& frame, const char* name) const;
  // Each tensor that the model takes, without negative_, and its last size.
  virtual std::map<std::string, int64_t> widths(const Checks& checks) const;

 private:
  // What is wrong with these for a condition of the guider; "" where nothing is.
  std::string fault_of(const Checks& checks, const EmbedsInfo& given) const;
};

}  // namespace omnirt::blocks
