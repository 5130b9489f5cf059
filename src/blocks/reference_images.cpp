#include "blocks/reference_images.hpp"

#include <ATen/ops/cat.h>

#include <cmath>

#include "io/image_resize.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
Size size_of_area(int64_t pixels, int64_t height, int64_t width) {
  constexpr double multiple = 32;
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  const double wide = std::sqrt(static_cast<double>(pixels) * ratio), high = wide / ratio;
  auto rounded = [](double side) {
    return static_cast<int64_t>(std::nearbyint(side / multiple) * multiple);
  };
  return {rounded(high), rounded(wide)};
}

Size limited(Size size, int64_t pixels) {
  int64_t own = size.height * size.width;
  if (own <= most_reference_pixels) return size;
  double scale = std::sqrt(static_cast<double>(pixels) / static_cast<double>(own));
  return {static_cast<int64_t>(static_cast<double>(size.height) * scale),
          static_cast<int64_t>(static_cast<double>(size.width) * scale)};
}

Size in_whole_latents(Size size, int64_t grid, int64_t pixels) {
  Size within = limited(size, pixels);
  return {within.height / grid * grid, within.width / grid * grid};
}

io::Image resized(const io::Image& image, Size size) {
  io::Image rgb = io::to_rgb(image);
  if (size == Size{rgb.height, rgb.width}) return rgb;
  return io::resize_lanczos(rgb, size.width, size.height);
}

Tensor middle_of(const io::Image& image, int64_t grid, int64_t pixels) {
  const io::Image within = resized(image, limited({image.height, image.width}, pixels));
  const Size size = in_whole_latents({image.height, image.width}, grid, pixels);
  Tensor values = image_to_tensor(within) * 2.0 - 1.0;
  return values.narrow(2, (within.height - size.height) / 2, size.height)
      .narrow(3, (within.width - size.width) / 2, size.width)
      .contiguous();
}

Tensor tokens_of(const std::vector<Tensor>& latents) {
  std::vector<Tensor> tokens;
  for (const Tensor& each : latents) tokens.push_back(each.flatten(2).transpose(1, 2));
  return at::cat(tokens, 1).contiguous();
}

}  // namespace omnirt::blocks
