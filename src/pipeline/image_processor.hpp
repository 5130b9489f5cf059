#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "io/image.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// How images are prepared for an image encoder: a component that is a config file alone.
class ImageProcessor {
 public:
  virtual ~ImageProcessor() = default;
  // What the encoder takes of an image, {1, 3, height, width} fp32.
  virtual Tensor pixel_values(const io::Image& image) const = 0;
};

// A class of image processors as the catalogue lists it.
struct ImageProcessorInfo {
  std::vector<std::string> class_names;  // as model_index.json names it
  // Throws Unsupported with all findings; `where` is the file.
  std::function<std::shared_ptr<const ImageProcessor>(const Json& config, const std::string& where)>
      make;
  std::string summary;
};

}  // namespace omnirt
