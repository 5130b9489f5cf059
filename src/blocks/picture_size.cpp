#include "blocks/picture_size.hpp"

#include <fmt/format.h>

#include "nn/denoiser_network.hpp"
#include "pipeline/symbol_sizes.hpp"
#include "request/latent_grid.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {
namespace {

// Latents of a side where the network's config does not say (reference: the pipelines' __init__).
constexpr int64_t usual_sample_size = 64;

void check_grid(Proposal& proposal, const Key<int64_t>& key, int64_t given, int64_t grid) {
  if (given % grid == 0) return;
  int64_t below = given / grid * grid;
  std::string way =
      below == 0 ? fmt::format("give {}", grid) : fmt::format("give {} or {}", below, below + grid);
  proposal.error({fmt::format("config.{}", key.name), std::to_string(given),
                  fmt::format("not a multiple of {}, the pixels of one latent", grid), way});
}

}  // namespace

void settle_from_model(Proposal& proposal, const Key<int64_t>& key, const std::string& denoiser,
                       int64_t sample_size) {
  int64_t latents = sample_size == 0 ? usual_sample_size : sample_size;
  int64_t side = latents * pixels_per_latent(proposal);
  if (side <= static_cast<int64_t>(key.max)) {
    proposal.config.set(key.name, side, Origin::model);
    return;
  }
  proposal.error({denoiser + ".sample_size", std::to_string(latents),
                  fmt::format("the model's own {} would be {} pixels; at most {} are made",
                              key.name, side, key.max),
                  fmt::format("give config.{}", key.name)});
}

void PictureSize::settle_from_image(Proposal& proposal, const io::ImageInfo& info,
                                    int64_t grid) const {
  struct Side {
    const Key<int64_t>& key;
    int64_t pixels;
    const char* how;
  };
  for (const Side& side :
       {Side{keys::width, info.width, "wide"}, {keys::height, info.height, "high"}}) {
    if (auto given = proposal.config.maybe(side.key)) {
      check_grid(proposal, side.key, *given, grid);
      continue;
    }
    int64_t rounded = side.pixels / grid * grid;  // down to the grid, as the reference does
    if (rounded == 0 || rounded > static_cast<int64_t>(side.key.max)) {
      proposal.error({"inputs." + image_, fmt::format("{}x{}", info.width, info.height),
                      fmt::format("{} pixels {}; {} to {} are taken", side.pixels, side.how, grid,
                                  side.key.max),
                      "give width and height, and it is resized"});
    } else {
      proposal.config.set(side.key.name, rounded, Origin::derived);
    }
  }
}

void PictureSize::tell_sizes(const Proposal& proposal, SymbolSizes& sizes) const {
  int64_t grid = pixels_per_latent(proposal);
  int64_t high = proposal.config.get(keys::height), wide = proposal.config.get(keys::width);
  sizes.set("H", high);
  sizes.set("W", wide);
  sizes.set("H/8", high / grid);
  sizes.set("W/8", wide / grid);
  sizes.set("C", latent_channels(proposal));
}

void PictureSize::check(Proposal& proposal) const {
  int64_t grid = pixels_per_latent(proposal);
  auto image = proposal.images.find(image_);
  if (unset_ == Unset::image && image != proposal.images.end())
    return settle_from_image(proposal, image->second.info, grid);
  auto [high, wide] = proposal.network<nn::DenoiserNetwork>("unet").sample_size();
  for (auto [key, latents] : {std::pair{&keys::width, wide}, {&keys::height, high}}) {
    if (auto given = proposal.config.maybe(*key))
      check_grid(proposal, *key, *given, grid);
    else
      settle_from_model(proposal, *key, "unet", latents);
  }
}

}  // namespace omnirt::blocks
