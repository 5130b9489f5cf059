#include "tensor/image_tensor.hpp"

#include <ATen/ops/from_blob.h>

#include <cstring>

namespace omnirt {

Tensor image_to_tensor(const io::Image& image) {
  // from_blob wants a mutable pointer; the bytes are only read, and copied by the conversion.
  Tensor bytes = at::from_blob(const_cast<uint8_t*>(image.pixels.data()),
                               {1, image.height, image.width, image.channels},
                               at::TensorOptions().dtype(at::kByte));
  return bytes.to(at::kFloat).div_(255.0).permute({0, 3, 1, 2}).contiguous();
}

io::Image tensor_to_image(const Tensor& images, int64_t index) {
  Tensor values = images[index].to(at::kFloat);
  Tensor bytes = (values * 0.5 + 0.5)
                     .clamp_(0, 1)
                     .mul_(255.0)
                     .round_()
                     .to(at::kByte)
                     .permute({1, 2, 0})
                     .contiguous();
  io::Image image = io::Image::zeros(bytes.size(1), bytes.size(0), bytes.size(2));
  std::memcpy(image.pixels.data(), bytes.const_data_ptr(), image.pixels.size());
  return image;
}

}  // namespace omnirt
