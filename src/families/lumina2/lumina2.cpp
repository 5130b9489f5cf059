#include "families/lumina2/lumina2.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires_in_tokens.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/shifted_timesteps.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/lumina2/check.hpp"
#include "families/lumina2/encode_prompt.hpp"
#include "families/lumina2/entries.hpp"

namespace omnirt::families {
namespace {

blocks::DenoiseOptions denoise_options() {
  return {.network = "transformer", .text_mask = lumina2::prompt_attention_mask.name};
}

// Height and width are the second and third axis of positions.
blocks::TokenSides lumina2_tokens(const Lumina2Transformer2DModel& network) {
  return {network.axes_lens()[1], network.axes_lens()[2]};
}

BlockList lumina2_blocks() {
  const Trigger given_noise = has("latents"), hires = blocks::asks_for_hires();
  // The reference takes the latents' channels for the number of tokens.
  const blocks::LevelShift shift{.mu = blocks::linear_mu, .counts_channels = true};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<lumina2::CheckParts>());
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<lumina2::ImageSize>());
  add(std::make_shared<blocks::HiresSizeInTokens<Lumina2Transformer2DModel>>(hires,
                                                                             lumina2_tokens));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<lumina2::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, Trigger()));
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(Trigger()));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options()));
  blocks::add_shifted_hires(list, shift, denoise_options(), hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

}  // namespace

Family lumina2() {
  return {.name = "lumina2",
          .tasks = {{"text2image", {}}},
          .blocks = lumina2_blocks(),
          .entries = lumina2::entries(),
          .pipeline_classes = {"Lumina2Pipeline", "Lumina2Text2ImgPipeline"},
          .variant_of = lumina2::variant_of,
          .adopt_scheduler = {},
          .shifts_by_size = true,
          .adapter_families = lumina2::adapter_families(),
          .previews = {{"", blocks::flux_latents()}},
          .guider = "cfg_rows",
          .guider_keys = lumina2::guider_keys()};
}

}  // namespace omnirt::families
