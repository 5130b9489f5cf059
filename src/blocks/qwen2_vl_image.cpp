#include "blocks/qwen2_vl_image.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/whole_number.hpp"
#include "io/image_resize.hpp"
#include "nn/config_check.hpp"

namespace omnirt::blocks {
namespace {

void read_pixels(const Json& json, const char* key, int64_t& pixels) {
  if (!json.is_object() || !json.contains(key)) return;
  pixels = whole_number(json[key]).value_or(pixels);
}

// To the nearest of even multiples, as Python rounds.
int64_t nearest_multiple(int64_t side, int64_t factor) {
  return static_cast<int64_t>(
             std::nearbyint(static_cast<double>(side) / static_cast<double>(factor))) *
         factor;
}

struct Sides {
  int64_t height, width;
};

// transformers image_processing_qwen2_vl.smart_resize.
Sides smart_size(const io::Image& image, const Qwen2VLImageProcessor& of) {
  const int64_t factor = of.patch_size * of.merge_size;
  const auto [shorter, longer] = std::minmax(image.height, image.width);
  if (longer > 200 * shorter) {
    throw InvalidRequest({"inputs.image", fmt::format("{}x{}", image.width, image.height),
                          "one side is more than 200 times the other", "give another image"});
  }
  Sides size{nearest_multiple(image.height, factor), nearest_multiple(image.width, factor)};
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const auto step = static_cast<double>(factor);
  auto scaled = [&](double side, double by, auto round) {
    return std::max(factor, static_cast<int64_t>(round(side * by / step)) * factor);
  };
  if (size.height * size.width > of.max_pixels) {
    const double beta = std::sqrt(height * width / static_cast<double>(of.max_pixels));
    auto down = [](double value) { return std::floor(value); };
    size = {scaled(height / beta, 1, down), scaled(width / beta, 1, down)};
  } else if (size.height * size.width < of.min_pixels) {
    const double beta = std::sqrt(static_cast<double>(of.min_pixels) / (height * width));
    auto up = [](double value) { return std::ceil(value); };
    size = {scaled(height, beta, up), scaled(width, beta, up)};
  }
  return size;
}

Tensor vision_channels(const std::vector<double>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble))
      .to(at::kFloat)
      .view({1, 3, 1, 1});
}

}  // namespace

Qwen2VLImageProcessor read_qwen2_vl_image_processor(const Json& file, const std::string& where) {
  // A whole processor's file has that of images within it.
  const bool whole = file.is_object() && file.contains("image_processor");
  const Json& json = whole ? file["image_processor"] : file;
  auto processor = read_config<Qwen2VLImageProcessor>(json, where);
  const Json size = json.value("size", Json());
  read_pixels(size, "shortest_edge", processor.min_pixels);
  read_pixels(size, "longest_edge", processor.max_pixels);
  read_pixels(json, "min_pixels", processor.min_pixels);
  read_pixels(json, "max_pixels", processor.max_pixels);
  nn::ConfigCheck check(where);
  check.range("patch_size", processor.patch_size, 1, 256);
  check.range("merge_size", processor.merge_size, 1, 16);
  check.range("temporal_patch_size", processor.temporal_patch_size, 1, 16);
  check.range("min_pixels", processor.min_pixels, 1, 1 << 26);
  check.range("max_pixels", processor.max_pixels, processor.min_pixels, 1 << 26);
  for (const auto& [name, values] : {std::pair{"image_mean", &processor.image_mean},
                                     std::pair{"image_std", &processor.image_std}})
    check.expect(values->size() == 3, name, std::to_string(values->size()) + " values",
                 "there must be one for each of the 3 channels");
  for (double deviation : processor.image_std) check.positive("image_std", deviation);
  check.finish();
  return processor;
}

ImageProcessorInfo qwen2_vl_image_processor_info() {
  return {.class_names = {"Qwen2VLProcessor", "Qwen2_5_VLProcessor", "Qwen3VLProcessor",
                          "Qwen2VLImageProcessor", "Qwen2VLImageProcessorFast",
                          "Qwen2VLImageProcessorPil"},
          .make =
              [](const Json& config, const std::string& where) {
                return std::make_shared<const Qwen2VLImageProcessor>(
                    read_qwen2_vl_image_processor(config, where));
              },
          .summary = "Qwen2-VL's way to resize and normalise an image"};
}

Tensor Qwen2VLImageProcessor::pixel_values(const io::Image& image) const {
  io::Image rgb = io::to_rgb(image);
  if (do_resize) {
    const Sides size = smart_size(rgb, *this);
    if (size.height != rgb.height || size.width != rgb.width)
      rgb = io::resize_bicubic(rgb, size.width, size.height);
  }
  // from_blob wants a mutable pointer; the bytes are only read, and copied by the conversion.
  Tensor bytes = at::from_blob(rgb.pixels.data(), {1, rgb.height, rgb.width, 3},
                               at::TensorOptions().dtype(at::kByte));
  Tensor values = bytes.permute({0, 3, 1, 2}).to(at::kDouble);
  if (do_rescale) values = values * rescale_factor;
  values = values.to(at::kFloat).contiguous();
  if (!do_normalize) return values;
  return (values - vision_channels(image_mean)) / vision_channels(image_std);
}

}  // namespace omnirt::blocks
