#include "blocks/image_size.hpp"

#include <fmt/format.h>

#include "pipeline/symbol_sizes.hpp"

namespace omnirt::blocks {
namespace {

// Latents of a side where the network's config does not say (reference: the pipelines' __init__).
constexpr int64_t usual_sample_size = 64;

}  // namespace

void check_grid(Checks& checks, const Config<int64_t>& side, int64_t given, int64_t grid) {
  if (given % grid == 0) return;
  int64_t below = given / grid * grid;
  std::string way =
      below == 0 ? fmt::format("give {}", grid) : fmt::format("give {} or {}", below, below + grid);
  checks.error({"config." + side.name(), std::to_string(given),
                fmt::format("not a multiple of {}, the pixels of one latent", grid), way});
}

void check_positions(Checks& checks, const Config<int64_t>& side, int64_t pixels, int64_t most) {
  if (pixels <= most) return;
  checks.error({"config." + side.name(), std::to_string(pixels),
                fmt::format("the transformer has positions for {} pixels", most),
                fmt::format("give at most {}", most)});
}

bool check_latent_channels(Checks& checks, const nn::Autoencoder& vae, const std::string& name,
                           int64_t channels) {
  if (channels == vae.latent_channels()) return true;
  checks.error({"transformer." + name, std::to_string(channels),
                fmt::format("the autoencoder's latents have {} channels", vae.latent_channels()),
                "use the autoencoder of the same model"});
  return false;
}

void settle_from_model(Checks& checks, const Config<int64_t>& side, const Port& denoiser,
                       int64_t sample_size, int64_t grid) {
  int64_t latents = sample_size == 0 ? usual_sample_size : sample_size;
  if (latents * grid <= static_cast<int64_t>(side.key.max)) {
    checks.settle(side, latents * grid, Origin::model);
    return;
  }
  checks.error({denoiser.name() + ".sample_size", std::to_string(latents),
                fmt::format("the model's own {} would be {} pixels; at most {} are made",
                            side.name(), latents * grid, side.key.max),
                fmt::format("give config.{}", side.name())});
}

void settle_from_image(Checks& checks, const Config<int64_t>& width, const Config<int64_t>& height,
                       const std::string& of, const io::ImageInfo& info, int64_t grid) {
  struct Side {
    const Config<int64_t>& port;
    int64_t pixels;
    const char* how;
  };
  for (const Side& side : {Side{width, info.width, "wide"}, {height, info.height, "high"}}) {
    if (auto given = checks.maybe(side.port)) {
      check_grid(checks, side.port, *given, grid);
      continue;
    }
    int64_t rounded = side.pixels / grid * grid;  // down to the grid, as the reference does
    if (rounded == 0 || rounded > static_cast<int64_t>(side.port.key.max)) {
      checks.error({"inputs." + of, fmt::format("{}x{}", info.width, info.height),
                    fmt::format("{} pixels {}; {} to {} are taken", side.pixels, side.how, grid,
                                side.port.key.max),
                    "give width and height, and it is resized"});
    } else {
      checks.settle(side.port, rounded, Origin::derived);
    }
  }
}

void tell_image_sizes(int64_t width, int64_t height, const nn::Autoencoder& vae,
                      SymbolSizes& sizes) {
  const nn::LatentGrid latents = vae.grid(width, height);
  sizes.set("H", height);
  sizes.set("W", width);
  sizes.set("H/8", latents.height);
  sizes.set("W/8", latents.width);
  sizes.set("C", latents.channels);
}

void SizeOfImage::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void SizeOfImage::check(Checks& checks) const {
  int64_t grid = checks[vae].factors().side;
  const ImageInput* given = checks.image(image);
  if (unset_ == Unset::image && given) {
    settle_from_image(checks, width, height, image.name(), given->info, grid);
    return;
  }
  auto [high, wide] = checks[unet].sample_size();
  for (auto [port, latents] : {std::pair{&width, wide}, {&height, high}}) {
    if (auto side = checks.maybe(*port))
      check_grid(checks, *port, *side, grid);
    else
      settle_from_model(checks, *port, unet, latents, grid);
  }
}

}  // namespace omnirt::blocks
