#include "families/qwen_image21/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/alpha_format.hpp"
#include "io/image_resize.hpp"

namespace omnirt::qwen_image21 {

std::vector<io::Image> resized_images(const io::Image& first, const std::vector<io::Image>* further,
                                      int64_t resolution) {
  std::vector<io::Image> all;
  auto add = [&](const io::Image& given) {
    const blocks::Size size =
        blocks::size_of_area(resolution * resolution, given.height, given.width);
    io::Image image = blocks::with_alpha(given);
    const bool fits = image.width == size.width && image.height == size.height;
    all.push_back(fits ? std::move(image) : io::resize_lanczos(image, size.width, size.height));
  };
  add(first);
  if (further) std::ranges::for_each(*further, add);
  return all;
}

void SizeOfLastImage::check(Checks& checks) const {
  if (!checks[text_encoder].vision()) {
    checks.error({"text_encoder", "", "its weights have no vision tower, which edits look with",
                  "use the text encoder of the model's own folder"});
  }
  const ImageInput* first = checks.image(image);
  if (!first) return;  // it was refused
  std::vector<std::pair<std::string, io::ImageInfo>> all{{"inputs.image", first->info}};
  for (const ImageInput& each : checks.images(references))
    all.emplace_back(fmt::format("inputs.image_reference[{}]", all.size() - 1), each.info);
  const int64_t pixels = checks[resolution] * checks[resolution];
  blocks::Size last;
  for (const auto& [field, info] : all) {
    last = blocks::size_of_area(pixels, info.height, info.width);
    if (std::min(last.height, last.width) > 0) continue;
    checks.error({field, fmt::format("{}x{}", info.width, info.height),
                  "one side is so much longer than the other that nothing is left of it",
                  "give another image, or more output_resolution"});
    return;
  }
  if (!checks.maybe(width)) checks.settle(width, last.width, Origin::derived);
  if (!checks.maybe(height)) checks.settle(height, last.height, Origin::derived);
}

}  // namespace omnirt::qwen_image21
