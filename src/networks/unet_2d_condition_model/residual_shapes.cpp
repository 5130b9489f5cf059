#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt {
namespace {

// An image's size on the down path: a convolution of stride 2 rounds up, or down where it pads one
// side only.
void halve(std::array<int64_t, 3>& shape, int64_t padding) {
  shape[1] = (shape[1] + padding) / 2;
  shape[2] = (shape[2] + padding) / 2;
}

}  // namespace

std::vector<std::array<int64_t, 3>> UNet2DConditionModel::residual_shapes(int64_t height,
                                                                          int64_t width) const {
  std::array<int64_t, 3> at{conv_in.out(), height, width};
  std::vector<std::array<int64_t, 3>> shapes{at};
  for (size_t block = 0; block < down_blocks.size(); ++block) {
    at[0] = config_.block_out_channels[block];
    for (size_t i = 0; i < down_blocks[block].layers(); ++i) {
      if (i == down_blocks[block].resnets.size()) halve(at, config_.downsample_padding);
      shapes.push_back(at);
    }
  }
  shapes.push_back(at);
  return shapes;
}

std::vector<std::array<int64_t, 3>> UNet2DConditionModel::adapter_shapes(int64_t height,
                                                                         int64_t width) const {
  std::vector<std::array<int64_t, 3>> shapes;
  std::array<int64_t, 3> at{conv_in.out(), height, width};
  for (size_t block = 0; block < down_blocks.size(); ++block) {
    at[0] = config_.block_out_channels[block];
    auto before = at;
    if (!down_blocks[block].downsamplers.empty()) halve(at, config_.downsample_padding);
    bool after_downsampling =
        down_blocks[block].residual_layer() >= down_blocks[block].resnets.size();
    shapes.push_back(after_downsampling ? at : before);
  }
  shapes.push_back(at);
  return shapes;
}

}  // namespace omnirt
