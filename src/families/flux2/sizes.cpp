#include "families/flux2/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "blocks/picture_size.hpp"
#include "pipeline/symbol_sizes.hpp"
#include "request/latent_grid.hpp"
#include "request/proposal.hpp"

namespace omnirt::flux2 {
namespace {

constexpr int64_t most_pixels = 1024 * 1024;
// Of an image to go by (reference: Flux2ImageProcessor.check_image_input).
constexpr int64_t least_side = 64;
constexpr double most_aspect_ratio = 8;

Size size_of(const io::ImageInfo& info) {
  return {info.height, info.width};
}

void refuse_image(Proposal& proposal, const std::string& field, Size size, const std::string& why) {
  proposal.error({field, fmt::format("{}x{}", size.width, size.height), why, "give another image"});
}

// What the reference's edits refuse; its inpainting does not ask.
void check_proportions(Proposal& proposal, const std::string& field, Size size) {
  auto [shorter, longer] = std::minmax(size.height, size.width);
  if (shorter < least_side) {
    refuse_image(proposal, field, size,
                 fmt::format("images of less than {} pixels a side are not taken", least_side));
  } else if (static_cast<double>(longer) > most_aspect_ratio * static_cast<double>(shorter)) {
    refuse_image(proposal, field, size,
                 fmt::format("one side is more than {} times the other", most_aspect_ratio));
  }
}

void check_image(Proposal& proposal, const std::string& field, Size size, int64_t grid) {
  size_t before = proposal.errors.size();
  if (proposal.task == "edit") check_proportions(proposal, field, size);
  Size whole = in_whole_latents(size, grid);
  if (proposal.errors.size() == before && std::min(whole.height, whole.width) == 0)
    refuse_image(proposal, field, size, fmt::format("a latent takes {} pixels a side", grid));
}

void check_images(Proposal& proposal, int64_t grid) {
  if (auto image = proposal.images.find("image"); image != proposal.images.end())
    check_image(proposal, "inputs.image", size_of(image->second.info), grid);
  auto list = proposal.image_lists.find("image_reference");
  if (list == proposal.image_lists.end()) return;
  for (size_t i = 0; i < list->second.size(); ++i) {
    check_image(proposal, fmt::format("inputs.image_reference[{}]", i),
                size_of(list->second[i].info), grid);
  }
}

void check_grid(Proposal& proposal, const Key<int64_t>& key, int64_t given, int64_t grid) {
  if (given % grid == 0) return;
  int64_t below = given / grid * grid;
  std::string way =
      below == 0 ? fmt::format("give {}", grid) : fmt::format("give {} or {}", below, below + grid);
  proposal.error({fmt::format("config.{}", key.name), std::to_string(given),
                  fmt::format("not a multiple of {}, the pixels of one latent", grid), way});
}

// A side whose value follows from the image's.
void settle_from_image(Proposal& proposal, const Key<int64_t>& key, int64_t side, int64_t grid) {
  std::optional<int64_t> given = proposal.config.maybe(key);
  if (!given) {
    proposal.config.set(key.name, side, Origin::derived);
  } else if (proposal.task == "edit") {
    check_grid(proposal, key, *given, grid);
  } else if (*given != side) {
    proposal.error({fmt::format("config.{}", key.name), std::to_string(*given),
                    fmt::format("an image that is repainted keeps its size, here {}", side),
                    "remove it, or give an image of another size"});
  }
}

}  // namespace

Size limited(Size size) {
  int64_t pixels = size.height * size.width;
  if (pixels <= most_pixels) return size;
  double scale = std::sqrt(static_cast<double>(most_pixels) / static_cast<double>(pixels));
  return {static_cast<int64_t>(static_cast<double>(size.height) * scale),
          static_cast<int64_t>(static_cast<double>(size.width) * scale)};
}

Size in_whole_latents(Size size, int64_t grid) {
  Size within = limited(size);
  return {within.height / grid * grid, within.width / grid * grid};
}

void ImageSize::tell_sizes(const Proposal& proposal, SymbolSizes& sizes) const {
  int64_t grid = pixels_per_latent(proposal);
  int64_t high = proposal.config.get(keys::height), wide = proposal.config.get(keys::width);
  sizes.set("H", high);
  sizes.set("W", wide);
  sizes.set("H/8", high / grid);
  sizes.set("W/8", wide / grid);
  sizes.set("C", latent_channels(proposal));
}

void ImageSize::check(Proposal& proposal) const {
  int64_t grid = pixels_per_latent(proposal);
  check_images(proposal, grid);
  if (auto image = proposal.images.find("image"); image != proposal.images.end()) {
    Size size = in_whole_latents(size_of(image->second.info), grid);
    if (std::min(size.height, size.width) == 0) return;  // it was refused
    settle_from_image(proposal, keys::width, size.width, grid);
    settle_from_image(proposal, keys::height, size.height, grid);
    return;
  }
  for (const Key<int64_t>* key : {&keys::width, &keys::height}) {
    if (auto given = proposal.config.maybe(*key))
      check_grid(proposal, *key, *given, grid);
    else
      blocks::settle_from_model(proposal, *key, "transformer", 0);
  }
}

}  // namespace omnirt::flux2
