#pragma once
#include <vector>

#include "networks/unet_2d_condition_model/model.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::blocks {

// config.ip_adapter_scale as one adapter reads it: a number for all, a list with one for each
// adapter, each of which may be a list with one for each image that has a mask, or scales by
// block as diffusers' set_ip_adapter_scale takes them.
class ImagePromptScale {
 public:
  // `value` must have passed check_ip_adapter_scale.
  ImagePromptScale(const Json& value, size_t place)
      : value_(value.is_array() ? value.at(place) : value) {}
  // Of one attention layer, by its path, and one image.
  double at(const std::string& layer, size_t image) const;

 private:
  Json value_;
};

// Finds lists of a wrong length, blocks that the UNet has not, and what is no number.
void check_ip_adapter_scale(Checks& checks, const Config<Json>& scale, size_t adapters,
                            const std::vector<ImagePromptSite>& sites);

}  // namespace omnirt::blocks
