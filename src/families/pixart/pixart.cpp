#include "families/pixart/pixart.hpp"

#include <fmt/format.h>

#include "blocks/binned_hires.hpp"
#include "blocks/binned_size.hpp"
#include "blocks/denoise.hpp"
#include "blocks/export_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/hires.hpp"
#include "blocks/latent_colours.hpp"
#include "blocks/latents.hpp"
#include "blocks/start_noise.hpp"
#include "blocks/upscale_images.hpp"
#include "families/pixart/blocks.hpp"
#include "families/pixart/captions.hpp"
#include "families/pixart/hires.hpp"

namespace omnirt::families {
namespace {

constexpr const char* task = "text2image";
constexpr const char* sigma = "pixart-sigma";
constexpr const char* alpha = "pixart-alpha";

// `pass`: before the names of what belongs to a pass, "" or "hires_".
blocks::DenoiseOptions denoise_options(const std::string& pass) {
  return {.network = "transformer",
          .constants = {{"prompt_attention_mask", "encoder_attention_mask",
                         "1 where the prompt has a token, 0 behind it"},
                        {pass + "resolution", "resolution", "height and width in pixels"},
                        {pass + "aspect_ratio", "aspect_ratio", "height / width"}}};
}

BlockList pixart_blocks() {
  BlockList list;
  auto add = [&]<class T>(std::shared_ptr<T> block) { list.push_back(std::move(block)); };
  add(std::make_shared<pixart::CheckParts>());
  const Trigger given_noise = has("latents");
  add(std::make_shared<blocks::SizeOfNoise>(given_noise));
  add(std::make_shared<blocks::BinnedImageSize>(pixart::pixart_sizes()));
  const Trigger hires = blocks::asks_for_hires();
  add(std::make_shared<blocks::BinnedHiresSize>(pixart::pixart_sizes(), hires));
  add(std::make_shared<blocks::StartNoise>());
  add(std::make_shared<pixart::EncodeCaption>());
  add(std::make_shared<pixart::SizeConditions>());
  add(std::make_shared<pixart::HiresSizeConditions>(hires));
  add(std::make_shared<blocks::SetTimesteps>(Trigger{}));
  add(std::make_shared<blocks::TakeBinnedNoise>(pixart::pixart_sizes(), given_noise));
  add(std::make_shared<blocks::PrepareBinnedLatents>(pixart::pixart_sizes()));
  add(std::make_shared<blocks::DenoiseLoop>(denoise_options("")));
  blocks::add_hires(list,
                    std::make_shared<blocks::DenoiseHires>(
                        blocks::hires_options(denoise_options("hires_"), hires)),
                    hires);
  add(std::make_shared<blocks::DecodeLatents>(!hires));
  add(std::make_shared<blocks::FitMadeImages>(!hires));
  add(std::make_shared<blocks::UpscaleMade>());
  add(std::make_shared<blocks::ExportImages>());
  return list;
}

// SASolverScheduler does not take the configs of PixArt's schedulers in the reference.
std::vector<std::string> compared_schedulers() {
  std::vector<std::string> names = schedulers_for(SchedulerFor::diffusion);
  std::erase(names, "SASolverScheduler");
  return names;
}

ModelSpec entry(const std::string& id, const std::string& summary, int64_t max_sequence_length,
                std::vector<std::string> hub_ids) {
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = task;
  made.resource_hint = {12, 6};
  made.default_config = {{"num_inference_steps", 20},
                         {"guidance_scale", 4.5},
                         {"max_sequence_length", max_sequence_length}};
  made.supported_schedulers = compared_schedulers();
  made.summary = summary;
  made.example = fmt::format(
      "omnirt generate --model {} --prompt \"a small cactus with a happy face\" -o cactus.png", id);
  made.hub_ids = std::move(hub_ids);
  return made;
}

std::vector<ModelSpec> pixart_entries() {
  std::vector<ModelSpec> entries{
      entry(sigma, "PixArt-Sigma (256x256 to 2048x2048)", 300,
            {"PixArt-alpha/PixArt-Sigma-XL-2-1024-MS", "PixArt-alpha/PixArt-Sigma-XL-2-512-MS"}),
      entry(alpha, "PixArt-Alpha (256x256 to 1024x1024)", 120,
            {"PixArt-alpha/PixArt-XL-2-1024-MS", "PixArt-alpha/PixArt-XL-2-512x512",
             "PixArt-alpha/PixArt-XL-2-256x256"})};
  for (auto [alias, id] : {std::pair{"pixart-sigma-xl-2-1024-ms", sigma},
                           {"pixart-xl-2-1024-ms", alpha},
                           {"pixart-xl-2-512x512", alpha}}) {
    ModelSpec other;
    other.id = alias;
    other.task = task;
    other.alias_of = id;
    entries.push_back(other);
  }
  return entries;
}

std::string variant_of(const PipelineFolder& folder) {
  return folder.class_name == "PixArtAlphaPipeline" ? alpha : sigma;
}

}  // namespace

Family pixart() {
  return {.name = "pixart",
          .tasks = {{task, {}}},
          .blocks = pixart_blocks(),
          .entries = pixart_entries(),
          .pipeline_classes = {"PixArtSigmaPipeline", "PixArtAlphaPipeline"},
          .variant_of = variant_of,
          .adopt_scheduler = {},
          .previews = {{"", blocks::sdxl_latents()}}};
}

}  // namespace omnirt::families
