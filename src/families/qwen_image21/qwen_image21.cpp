#include "families/qwen_image21/qwen_image21.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/hires.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/token_size.hpp"
#include "families/qwen_image21/check.hpp"
#include "families/qwen_image21/decode.hpp"
#include "families/qwen_image21/encode_edit.hpp"
#include "families/qwen_image21/entries.hpp"
#include "families/qwen_image21/hires.hpp"
#include "families/qwen_image21/references.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions qwen_image21_denoise_options() {
  const auto& mask = blocks::prompt_embeds_mask;
  auto constant = [](const auto& slot) {
    return blocks::ConstantInput{slot.name, slot.name, slot.help};
  };
  return {.network = "transformer",
          .constants = {{mask.name, "encoder_attention_mask", mask.help},
                        constant(slots::reference_latents),
                        constant(qwen_image21::prefix_ids),
                        constant(qwen_image21::prefix_mask),
                        constant(qwen_image21::sample_ids)}};
}

BlockList qwen_image21_blocks() {
  // Each latent is a token, but images are whole squares of four, as the text encoder sees them.
  constexpr int64_t square = 2, latents_of_a_side = 64;
  const blocks::LevelShift by_latents{.mu = blocks::linear_mu, .patch = 1};
  const Trigger edit = has("image"), hires = blocks::asks_for_hires() && !edit;
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<qwen_image21::CheckParts>());
  add(std::make_shared<blocks::RefuseHires>(edit));
  add(std::make_shared<qwen_image21::SizeOfLastImage>(edit));
  add(std::make_shared<blocks::SizeInTokens>(square, latents_of_a_side));
  add(std::make_shared<qwen_image21::HiresSize>(hires, square));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<qwen_image21::EncodePrompt>(!edit));
  add(std::make_shared<qwen_image21::LookAtImages>(edit));
  add(std::make_shared<qwen_image21::EncodeEdit>(edit));
  add(std::make_shared<blocks::SetShiftedTimesteps>(by_latents, Trigger()));
  add(std::make_shared<blocks::PrepareLatents>(Trigger()));
  add(std::make_shared<qwen_image21::EncodeReferences>(edit));
  add(std::make_shared<blocks::DenoiseLoop>(qwen_image21_denoise_options()));
  add(std::make_shared<blocks::HiresLatents>(hires));
  add(std::make_shared<blocks::DenoiseShiftedHires>(
      by_latents, blocks::hires_options(qwen_image21_denoise_options(), hires)));
  add(std::make_shared<qwen_image21::DecodeWithAlpha>(hires, "decode_hires", slots::hires_latents,
                                                      slots::hires_decoded_images));
  add(std::make_shared<qwen_image21::DecodeWithAlpha>(!hires));
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family qwen_image21() {
  return {.name = "qwen_image21",
          .tasks = {{"text2image", {}}, {"edit", {"image"}}},
          .blocks = qwen_image21_blocks(),
          .entries = qwen_image21::entries(),
          .pipeline_classes = {"QwenImage21Pipeline", "QwenImage21ModularPipeline",
                               "QwenImage21TurboModularPipeline"},
          .variant_of = qwen_image21::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = qwen_image21::adapter_families(),
          .text_encoders = {{"text_encoder", "processor"}}};
}

}  // namespace omnirt::families
