#include "families/flux/kontext_blocks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "blocks/image_size.hpp"
#include "blocks/latents.hpp"
#include "blocks/mode_latents.hpp"
#include "nn/patches.hpp"

namespace omnirt::flux {
namespace {

constexpr int64_t usual_latents = 128;

constexpr auto preferred = std::to_array<KontextSize>({{672, 1568},
                                                       {688, 1504},
                                                       {720, 1456},
                                                       {752, 1392},
                                                       {800, 1328},
                                                       {832, 1248},
                                                       {880, 1184},
                                                       {944, 1104},
                                                       {1024, 1024},
                                                       {1104, 944},
                                                       {1184, 880},
                                                       {1248, 832},
                                                       {1328, 800},
                                                       {1392, 752},
                                                       {1456, 720},
                                                       {1504, 688},
                                                       {1568, 672}});

KontextSize whole_tokens(KontextSize size, int64_t token) {
  return {size.width / token * token, size.height / token * token};
}

double shape_of(KontextSize size) {
  return static_cast<double>(size.width) / static_cast<double>(size.height);
}

int64_t token_of(const nn::Autoencoder& vae) {
  return vae.factors().side * nn::patch_side;
}

// The mode of what the encoder makes of an image at this size, {1, C, h, w}.
Tensor mode_latents(Frame& frame, const Component<nn::Autoencoder>& vae,
                    const blocks::TilingPorts& tiling, const io::Image& image, KontextSize size) {
  return blocks::mode_latents(frame, vae, tiling,
                              blocks::image_tensor(image, size.width, size.height));
}

struct ReferenceTokens {
  Tensor tokens, places;
};

// An image to go by as tokens {1, N, C'}, and their positions {1, N, 4}.
ReferenceTokens reference_of(Frame& frame, const Component<nn::Autoencoder>& vae,
                             const blocks::TilingPorts& tiling, const io::Image& image,
                             bool resized) {
  const KontextSize size = looked_at({image.width, image.height}, resized, token_of(frame[vae]));
  Tensor packed = nn::packed_patches(mode_latents(frame, vae, tiling, image, size));
  const auto [rows, columns] = nn::LatentGrid::of(packed).sides();
  Tensor places = at::zeros({rows, columns, 4}, at::kFloat);
  places.select(2, 0).fill_(1);
  places.select(2, 1).copy_(at::arange(rows, at::kFloat).unsqueeze(1));
  places.select(2, 2).copy_(at::arange(columns, at::kFloat).unsqueeze(0));
  return {packed.flatten(2).transpose(1, 2).contiguous(), places.view({1, rows * columns, 4})};
}

// An image of less than a token per side cannot be encoded. `given` may be null.
void check_has_tokens(Checks& checks, const std::string& field, const ImageInput* given,
                      int64_t token) {
  if (!given || std::min(given->info.width, given->info.height) >= token) return;
  checks.error({field, fmt::format("{}x{}", given->info.width, given->info.height),
                fmt::format("a token takes {} pixels a side", token), "give a larger image"});
}

}  // namespace

KontextSize of_area(KontextSize wanted, int64_t area, int64_t token) {
  const double shape = shape_of(wanted), pixels = static_cast<double>(area);
  auto side = [](double of) { return static_cast<int64_t>(std::nearbyint(std::sqrt(of))); };
  return whole_tokens({side(pixels * shape), side(pixels / shape)}, token);
}

KontextSize looked_at(KontextSize given, bool resized, int64_t token) {
  KontextSize whole = whole_tokens(given, token);
  if (!resized || whole.width == 0 || whole.height == 0) return whole;
  const double shape = shape_of(whole);
  // The first of equally near ones, which are in order of their widths.
  auto nearest = std::ranges::min_element(
      preferred, {}, [&](KontextSize size) { return std::abs(shape - shape_of(size)); });
  return whole_tokens(*nearest, token);
}

void SizeOfArea::check(Checks& checks) const {
  const int64_t token = token_of(checks[vae]);
  const int64_t usual = usual_latents * checks[vae].factors().side;
  const KontextSize given{checks.maybe(width).value_or(usual),
                          checks.maybe(height).value_or(usual)};
  const KontextSize made = of_area(given, checks[area], token);
  const bool said = checks.maybe(width) || checks.maybe(height);
  const auto most = static_cast<int64_t>(keys::width.max);
  if (std::min(made.width, made.height) == 0 || std::max(made.width, made.height) > most) {
    checks.error({"config.max_area", std::to_string(checks[area]),
                  fmt::format("an image of the shape {}x{} would be {}x{}", given.width,
                              given.height, made.width, made.height),
                  "give sides that differ less, or another area"});
    return;
  }
  if (said && !(made == given)) {
    checks.warn({"config.width", fmt::format("{}x{}", given.width, given.height),
                 fmt::format("this model makes images of about {} pixels; it is made at {}x{}",
                             checks[area], made.width, made.height),
                 "set max_area for another size"});
  }
  checks.settle(width, made.width, Origin::derived);
  checks.settle(height, made.height, Origin::derived);
}

void SizeOfArea::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void SizeOfRepainted::settle_side(Checks& checks, const Config<int64_t>& side,
                                  int64_t pixels) const {
  auto given = checks.maybe(side);
  if (!given) return checks.settle(side, pixels, Origin::derived);
  if (*given == pixels) return;
  checks.error({"config." + side.name(), std::to_string(*given),
                fmt::format("an image that is repainted has the size at which it is looked at, "
                            "here {}",
                            pixels),
                "remove it, or give an image of another size"});
}

void SizeOfRepainted::check(Checks& checks) const {
  const ImageInput* given = checks.image(image);
  if (!given) return;
  const KontextSize made =
      looked_at({given->info.width, given->info.height}, checks[resizes], token_of(checks[vae]));
  if (std::min(made.width, made.height) == 0) return;  // the blocks that encode it say so
  settle_side(checks, width, made.width);
  settle_side(checks, height, made.height);
}

void SizeOfRepainted::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void EncodeRepainted::run(Frame& frame) const {
  Tensor one = mode_latents(frame, vae, tiling, frame[image], {frame[width], frame[height]});
  frame[image_latents] = one.repeat({static_cast<int64_t>(frame[seeds].size()), 1, 1, 1});
}

void EncodeRepainted::check(Checks& checks) const {
  tiling.check(checks, vae);
  // EncodeReference looks at the same image.
  if (checks.holds(has("image_reference")))
    check_has_tokens(checks, "inputs.image", checks.image(image), token_of(checks[vae]));
}

void EncodeReference::check(Checks& checks) const {
  tiling.check(checks, vae);
  check_has_tokens(checks, "inputs.image", checks.image(image), token_of(checks[vae]));
}

void EncodeReference::run(Frame& frame) const {
  auto [tokens, places] = reference_of(frame, vae, tiling, frame[image], frame[resizes]);
  frame[latents] = tokens;
  frame[ids] = places;
}

void EncodeOtherReference::check(Checks& checks) const {
  tiling.check(checks, vae);
  const std::vector<ImageInput>& given = checks.images(images);
  if (given.size() != 1) {
    checks.error({"inputs.image_reference", fmt::format("{} images", given.size()),
                  "this model goes by one", "give one"});
    return;
  }
  check_has_tokens(checks, "inputs.image_reference[0]", &given[0], token_of(checks[vae]));
}

void EncodeOtherReference::run(Frame& frame) const {
  auto [tokens, places] = reference_of(frame, vae, tiling, frame[images].at(0), frame[resizes]);
  frame[latents] = tokens;
  frame[ids] = places;
}

}  // namespace omnirt::flux
