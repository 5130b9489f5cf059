#include "families/krea2/krea2.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/hires.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/token_size.hpp"
#include "blocks/upscale_images.hpp"
#include "families/krea2/check.hpp"
#include "families/krea2/encode_prompt.hpp"
#include "families/krea2/entries.hpp"

namespace omnirt::families {
namespace {

// Of the distilled model, whatever the size (reference: Krea2Pipeline.__call__).
double mu_of_turbo(const Json& /*scheduler_config*/, int64_t /*tokens*/, int64_t /*steps*/) {
  return 1.15;
}

constexpr int64_t patch = Krea2Transformer2DConfig::patch_side;
constexpr blocks::LevelShift by_size{blocks::linear_mu, patch};
constexpr blocks::LevelShift of_turbo{mu_of_turbo, patch};

blocks::DenoiseOptions denoise_options() {
  return {.network = "transformer", .text_mask = krea2::prompt_attention_mask.name};
}

// The second pass, shifted by the same rule as the first one.
void add_second_pass(BlockList& list, const Trigger& hires, const Trigger& distilled) {
  blocks::add_hires_start(list, hires);
  list.push_back(std::make_shared<blocks::DenoiseShiftedHires>(
      by_size, blocks::hires_options(denoise_options(), hires && !distilled)));
  list.push_back(std::make_shared<blocks::DenoiseShiftedHires>(
      of_turbo,
      blocks::hires_options(denoise_options(), hires && distilled, "denoise_distilled_hires")));
  list.push_back(blocks::decode_hires(hires));
}

BlockList krea2_blocks() {
  const Trigger distilled = krea2::is_distilled(), hires = blocks::asks_for_hires();
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<krea2::CheckParts>());
  add(std::make_shared<blocks::SizeInTokens>(patch));
  add(std::make_shared<blocks::HiresSize>(hires, patch));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<krea2::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(by_size, !distilled));
  add(std::make_shared<blocks::SetShiftedTimesteps>(of_turbo, distilled,
                                                    "set_distilled_timesteps"));
  add(std::make_shared<blocks::PrepareLatents>(Trigger()));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  add_second_pass(list, hires, distilled);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family krea2() {
  return {
      .name = "krea2",
      .tasks = {{"text2image", {}}},
      .blocks = krea2_blocks(),
      .entries = krea2::entries(),
      .pipeline_classes = {"Krea2Pipeline", "Krea2ModularPipeline", "Krea2TurboModularPipeline"},
      .variant_of = krea2::variant_of,
      .adopt_scheduler = {},
      .shifts_by_size = true,
      .adapter_families = krea2::adapter_families(),
      .previews = {{"", blocks::wan_latents()}},
      .guider = "cfg_original",
      .guider_keys = {&keys::guidance_scale}};
}

}  // namespace omnirt::families
