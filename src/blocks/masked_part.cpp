#include "blocks/masked_part.hpp"

#include <fmt/format.h>

#include "base/path_text.hpp"
#include "blocks/fit_images.hpp"
#include "io/image_mask.hpp"
#include "io/image_resize.hpp"

namespace omnirt::blocks {
namespace {

io::Image grey_mask(const io::Image& mask) {
  return io::to_grey(io::painted_mask(mask));
}

io::Image blurred(const io::Image& mask, int64_t radius) {
  return io::to_rgb(io::gaussian_blur(grey_mask(mask), static_cast<double>(radius)));
}

std::optional<io::Region> region_of(const io::Image& mask, int64_t width, int64_t height,
                                    int64_t padding) {
  return io::masked_region(grey_mask(mask), width, height, padding);
}

// An image in the place of a region, black around it.
io::Image placed(const io::Image& part, const io::Region& region, int64_t width, int64_t height) {
  io::Image whole = io::Image::zeros(width, height, 3);
  io::paste(whole, part, region.x, region.y);
  return whole;
}

Trigger asks_for_part() {
  return has_config(keys::padding_mask_crop.name);
}

void refuse_beside(Checks& checks, const char* input) {
  checks.error({"config.padding_mask_crop", input, "only image and mask are cut to the masked part",
                std::string("remove inputs.") + input + ", or padding_mask_crop"});
}

}  // namespace

bool crops_to_mask(const Checks& checks) {
  return checks.holds(asks_for_part());
}

void warn_of_alpha(Checks& checks, const std::string& path, const io::Image& mask) {
  if (!io::mask_is_in_alpha(mask)) return;
  checks.warn({"inputs.mask", path,
               "its colours are all the same: its alpha channel is read, and what is opaque is "
               "repainted",
               "give a mask of black and white"});
}

void BlurMask::run(Frame& frame) const {
  frame[mask] = blurred(frame[mask], frame[mask_blur]);
}

void CropToMask::check(Checks& checks) const {
  if (checks.image(control_image)) refuse_beside(checks, "control_image");
  if (checks.image(adapter_image)) refuse_beside(checks, "adapter_image");
  if (!checks.images(entity_masks).empty()) refuse_beside(checks, "entity_masks");
  const ImageInput* given = checks.image(mask);
  auto wide = checks.maybe(width), high = checks.maybe(height);
  if (!given || !wide || !high || !checks.restored(mask).empty()) return;
  io::Image read = given->given ? *given->given : io::read_image(given->path);
  warn_of_alpha(checks, path_text(given->path), read);
  if (auto radius = checks.maybe(mask_blur)) read = blurred(read, *radius);
  if (region_of(read, *wide, *high, checks[padding])) return;
  checks.error({"inputs.mask", path_text(given->path),
                "black everywhere: there is no part to inpaint",
                "paint what is to change in white, or remove padding_mask_crop"});
}

void CropToMask::run(Frame& frame) const {
  const io::Image rgb = io::to_rgb(frame[image]), painted = io::painted_mask(frame[mask]);
  auto region = region_of(painted, frame[width], frame[height], frame[padding]);
  // One that was looked at may have been made smaller since.
  if (!region)
    throw InvalidRequest({"inputs.mask", fmt::format("{}x{}", painted.width, painted.height),
                          "at this size nothing of it is white: there is no part to inpaint",
                          "paint a larger part, or remove padding_mask_crop"});
  auto part = [&](const io::Image& of) {
    return io::fit_image(io::crop(of, *region), frame[width], frame[height], ImageFit::fill);
  };
  frame[image] = part(rgb);
  frame[mask] = part(painted);
  frame[original_image] = rgb;
  frame[original_mask] = painted;
}

void PutBackPart::check_loaded(Checks& checks) const {
  auto images_given = checks.restored(original_image), masks = checks.restored(original_mask);
  if (images_given.empty() || masks.empty()) return;
  const io::Image &whole = *images_given.front(), &covered = *masks.front();
  if (whole.width != covered.width || whole.height != covered.height)
    checks.refuse_restored(original_mask, "has another size than the image");
  else if (!region_of(covered, 1, 1, 0))
    checks.refuse_restored(original_mask, "is black everywhere");
}

void PutBackPart::run(Frame& frame) const {
  const io::Image rgb = io::to_rgb(frame[original_image]), grey = grey_mask(frame[original_mask]);
  const io::Image& first = frame[images].front();  // all have one size
  const auto region = io::masked_region(grey, first.width, first.height, frame[padding]);
  ensure(region.has_value(), "a mask of {}x{} that is black everywhere", grey.width, grey.height);
  for (io::Image& made : frame[images]) {
    io::Image part = io::fit_image(made, region->width, region->height, ImageFit::crop);
    made = io::put_back(rgb, placed(part, *region, rgb.width, rgb.height), grey);
  }
}

void PutBackOriginal::run(Frame& frame) const {
  const io::Image& first = frame[images].front();  // all have one size
  auto resized = [&](const io::Image& given) {
    return io::resize_lanczos(given, first.width, first.height);
  };
  const io::Image original = resized(io::to_rgb(frame[image]));
  const io::Image grey = io::to_grey(resized(io::painted_mask(frame[mask])));
  for (io::Image& made : frame[images]) made = io::put_back(original, made, grey);
}

BlockList given_image_blocks(const Trigger& image, const Trigger& inpaint) {
  const Trigger part = inpaint && asks_for_part();
  const Trigger fit = has_config(keys::image_fit.name) && !part;
  return {std::make_shared<BlurMask>(inpaint && has_config(keys::mask_blur.name)),
          std::make_shared<CropToMask>(part),
          std::make_shared<FitImage>("fit_image", slots::image, image && fit),
          std::make_shared<FitImage>("fit_mask", slots::mask, inpaint && fit)};
}

BlockList put_back_blocks(const Trigger& inpaint) {
  const Trigger part = inpaint && asks_for_part();
  return {std::make_shared<PutBackPart>(part),
          std::make_shared<PutBackOriginal>(inpaint && has_config(keys::mask_blur.name) && !part)};
}

}  // namespace omnirt::blocks
