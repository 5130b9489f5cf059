#include "pipeline/blocks/picture_size.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "pipeline/proposal.hpp"

namespace omnirt::blocks {
namespace {

// Whether the config was written by a diffusers older than 0.9.
bool written_before_0_9(const Json& config) {
  Json version = config.contains("_diffusers_version") ? config["_diffusers_version"] : Json();
  int major = 0, minor = 0;
  if (!version.is_string() ||
      std::sscanf(version.get<std::string>().c_str(), "%d.%d", &major, &minor) != 2)
    return false;
  return major == 0 && minor < 9;
}

// A side from the model: sample_size (a number, or [height, width]) times the pixels a latent.
int64_t model_side(const Proposal& proposal, int64_t grid, size_t which) {
  const Json& config = proposal.component_config("unet");
  Json size = config.contains("sample_size") ? config["sample_size"] : Json(64);
  if (size.is_array() && size.size() == 2) size = size[which];
  constexpr int64_t usual = 64, most = 1024;
  int64_t latents = size.is_number_integer() ? size.get<int64_t>() : usual;
  // The first Stable Diffusion folders say 32 and mean 64 (reference:
  // StableDiffusionPipeline.__init__).
  if (latents < usual && written_before_0_9(config)) latents = usual;
  return std::clamp<int64_t>(latents, 1, most) * grid;
}

void settle(Proposal& proposal, const Key<int64_t>& key, int64_t unset, Origin origin,
            int64_t grid) {
  auto given = proposal.config.maybe(key);
  if (!given) {
    proposal.config.set(key.name, unset, origin);
  } else if (*given % grid != 0) {
    int64_t below = *given / grid * grid;
    std::string way = below == 0 ? fmt::format("give {}", grid)
                                 : fmt::format("give {} or {}", below, below + grid);
    proposal.error({fmt::format("config.{}", key.name), std::to_string(*given),
                    fmt::format("not a multiple of {}, the pixels of one latent", grid), way});
  }
}

}  // namespace

int64_t pixels_per_latent(const Proposal& proposal) {
  const Json& config = proposal.component_config("vae");
  for (const char* name : {"block_out_channels", "decoder_block_out_channels"}) {
    if (config.contains(name) && config[name].is_array() && !config[name].empty() &&
        config[name].size() <= 8) {
      return int64_t{1} << (config[name].size() - 1);
    }
  }
  return 8;
}

void PictureSize::check(Proposal& proposal) const {
  int64_t grid = pixels_per_latent(proposal);
  auto image = proposal.images.find(image_);
  if (unset_ == Unset::image && image != proposal.images.end()) {
    const io::ImageInfo& info = image->second.info;
    // The reference rounds down to the grid.
    int64_t width_of_image = info.width / grid * grid, height_of_image = info.height / grid * grid;
    if (!proposal.config.maybe(keys::width) &&
        (width_of_image == 0 || width_of_image > keys::width.max)) {
      proposal.error(
          {"inputs." + image_, fmt::format("{}x{}", info.width, info.height),
           fmt::format("{} pixels wide; {} to {} are taken", info.width, grid, keys::width.max),
           "give width and height, and it is resized"});
    } else if (!proposal.config.maybe(keys::height) &&
               (height_of_image == 0 || height_of_image > keys::height.max)) {
      proposal.error(
          {"inputs." + image_, fmt::format("{}x{}", info.width, info.height),
           fmt::format("{} pixels high; {} to {} are taken", info.height, grid, keys::height.max),
           "give width and height, and it is resized"});
    }
    settle(proposal, keys::width, width_of_image, Origin::derived, grid);
    settle(proposal, keys::height, height_of_image, Origin::derived, grid);
    return;
  }
  settle(proposal, keys::width, model_side(proposal, grid, 1), Origin::model, grid);
  settle(proposal, keys::height, model_side(proposal, grid, 0), Origin::model, grid);
}

}  // namespace omnirt::blocks
