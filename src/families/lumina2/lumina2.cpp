#include "families/lumina2/lumina2.hpp"

#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
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

BlockList lumina2_blocks() {
  const Trigger given_noise = has("latents");
  // The reference takes the latents' channels for the number of tokens.
  const blocks::LevelShift shift{.mu = blocks::linear_mu, .counts_channels = true};
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<lumina2::CheckParts>());
  add(std::make_shared<blocks::RefuseHires>());
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<lumina2::ImageSize>());
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<lumina2::EncodePrompt>());
  add(std::make_shared<blocks::SetShiftedTimesteps>(shift, Trigger()));
  add(std::make_shared<blocks::TakeNoiseOfImages>(given_noise));
  add(std::make_shared<blocks::PrepareLatents>(Trigger()));
  add(std::make_shared<blocks::DenoiseLoop>(blocks::DenoiseOptions{
      .network = "transformer", .text_mask = lumina2::prompt_attention_mask.name}));
  add(std::make_shared<blocks::DecodeLatents>());
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
