#pragma once
#include "families/sdxl/keys.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::families {

// Checks whether an SDXL folder's parts fit each other and the task, and takes what its
// model_index.json says of prompts; does nothing in a run.
class CheckXL final : public Block {
 public:
  Config<bool> force_zeros{this, keys::force_zeros_for_empty_prompt};
  Config<OutputType> output_type{this, keys::output_type};
  Described<UNet2DConditionModel> unet{this, "unet"};
  Described<CLIPTextModelWithProjection> text_encoder_2{this, "text_encoder_2"};
  Described<std::vector<std::string>> prompt{this, "prompt"};
  Described<std::vector<std::string>> prompt_2{this, "prompt_2"};

  CheckXL() : Block("check_xl", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void take_index(Checks& checks) const;
  void check_numbers(Checks& checks) const;
  void check_prompts(Checks& checks) const;
};

// Width and height of given latents.
class SizeOfLatents final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> num_images{this, keys::num_images_per_prompt};
  Config<double> denoising_start{this, keys::denoising_start};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<GivenLatents> latents{this, "latents"};
  Described<std::vector<std::string>> prompt{this, "prompt"};

  explicit SizeOfLatents(Trigger trigger)
      : Block("size_of_latents", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void settle_side(Checks& checks, const Config<int64_t>& port, int64_t side) const;
  void check_hand_over(Checks& checks, const LatentsInput& given) const;
};

}  // namespace omnirt::families
