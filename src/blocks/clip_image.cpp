#include "blocks/clip_image.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/whole_number.hpp"
#include "io/image_resize.hpp"
#include "nn/config_check.hpp"

namespace omnirt::blocks {
namespace {

std::optional<int64_t> number(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) ? whole_number(json[key]) : std::nullopt;
}

// {height, width} of an object or of one number for both.
std::optional<std::array<int64_t, 2>> sides(const Json& json) {
  if (const auto side = whole_number(json)) return {{*side, *side}};
  auto height = number(json, "height"), width = number(json, "width");
  if (!height || !width) return {};
  return {{*height, *width}};
}

void read_size(const Json& json, nn::ConfigCheck& check, CLIPImageProcessor& processor) {
  const auto side = whole_number(json);
  if (auto edge = side ? side : number(json, "shortest_edge")) {
    processor.shortest_edge = *edge;
    check.range("size", *edge, 1, 1 << 14);
  } else if (auto size = sides(json)) {
    processor.shortest_edge = 0;
    processor.size = *size;
    for (int64_t side : *size) check.range("size", side, 1, 1 << 14);
  } else {
    check.expect(false, "size", shown(json),
                 "a number, {shortest_edge} or {height, width} is read");
  }
}

void read_crop_size(const Json& json, nn::ConfigCheck& check, CLIPImageProcessor& processor) {
  auto size = sides(json);
  check.expect(size.has_value(), "crop_size", shown(json), "a number or {height, width} is read");
  if (!size) return;
  processor.crop_size = *size;
  for (int64_t side : *size) check.range("crop_size", side, 1, 1 << 14);
}

void check_channels(nn::ConfigCheck& check, const char* name, const std::vector<double>& values) {
  check.expect(values.size() == 3, name, std::to_string(values.size()) + " values",
               "there must be one for each of the 3 channels");
}

io::Image resized(const io::Image& image, const CLIPImageProcessor& processor) {
  auto [height, width] = processor.size;
  if (int64_t edge = processor.shortest_edge) {
    // Cut towards zero, through a double, as Python divides.
    auto longer = [&](int64_t side, int64_t shorter) {
      return static_cast<int64_t>(static_cast<double>(edge * side) / static_cast<double>(shorter));
    };
    bool tall = image.width <= image.height;
    width = tall ? edge : longer(image.width, image.height);
    height = tall ? longer(image.height, image.width) : edge;
  }
  switch (processor.resample) {
    case 0:
      return io::resize_nearest(image, width, height);
    case 1:
      return io::resize_lanczos(image, width, height);
    case 2:
      return io::resize_bilinear(image, width, height);
    default:
      return io::resize_bicubic(image, width, height);
  }
}

// Where the image's first row (or column) is in the crop; below 0 it is cut off. An odd rest is cut
// off at the far end, and filled up at the near one, as the reference does.
int64_t crop_offset(int64_t side, int64_t crop) {
  return side >= crop ? -((side - crop) / 2) : (crop - side + 1) / 2;
}

io::Image center_crop(const io::Image& image, const std::array<int64_t, 2>& size) {
  auto [height, width] = size;
  io::Image result = io::Image::zeros(width, height, image.channels);
  int64_t top = crop_offset(image.height, height), left = crop_offset(image.width, width);
  int64_t from = std::max<int64_t>(0, left), to = std::min(width, left + image.width);
  for (int64_t y = std::max<int64_t>(0, top); y < std::min(height, top + image.height); ++y) {
    std::memcpy(result.row(y) + from * image.channels,
                image.row(y - top) + (from - left) * image.channels,
                static_cast<size_t>((to - from) * image.channels));
  }
  return result;
}

Tensor per_channel(const std::vector<double>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble))
      .to(at::kFloat)
      .view({1, 3, 1, 1});
}

}  // namespace

CLIPImageProcessor read_clip_image_processor(const Json& json, const std::string& where) {
  auto processor = read_config<CLIPImageProcessor>(json, where);
  nn::ConfigCheck check(where);
  if (json.contains("size") && !json["size"].is_null()) read_size(json["size"], check, processor);
  if (json.contains("crop_size") && !json["crop_size"].is_null())
    read_crop_size(json["crop_size"], check, processor);
  check.range("resample", processor.resample, 0, 3);
  check_channels(check, "image_mean", processor.image_mean);
  check_channels(check, "image_std", processor.image_std);
  for (double deviation : processor.image_std) check.positive("image_std", deviation);
  check.finish();
  return processor;
}

ImageProcessorInfo clip_image_processor_info() {
  return {.class_names = {"CLIPImageProcessor", "CLIPImageProcessorFast", "CLIPImageProcessorPil",
                          "CLIPFeatureExtractor"},
          .make =
              [](const Json& config, const std::string& where) {
                return std::make_shared<const CLIPImageProcessor>(
                    read_clip_image_processor(config, where));
              },
          .summary = "CLIP's way to resize, crop and normalise an image"};
}

CLIPImageProcessor read_siglip_image_processor(const Json& json, const std::string& where) {
  Json all = {{"do_center_crop", false},
              {"size", {{"height", 224}, {"width", 224}}},
              {"image_mean", {0.5, 0.5, 0.5}},
              {"image_std", {0.5, 0.5, 0.5}}};
  if (!json.is_object()) return read_clip_image_processor(json, where);
  for (const auto& [name, value] : json.items()) {
    if (!value.is_null()) all[name] = value;  // null is what the class does of itself
  }
  if (all["size"].is_number_integer())
    all["size"] = {{"height", all["size"]}, {"width", all["size"]}};
  return read_clip_image_processor(all, where);
}

ImageProcessorInfo siglip_image_processor_info() {
  return {.class_names = {"SiglipImageProcessor", "SiglipImageProcessorFast",
                          "SiglipImageProcessorPil"},
          .make =
              [](const Json& config, const std::string& where) {
                return std::make_shared<const CLIPImageProcessor>(
                    read_siglip_image_processor(config, where));
              },
          .summary = "SigLIP's way to resize and normalise an image"};
}

Tensor CLIPImageProcessor::pixel_values(const io::Image& image) const {
  return clip_pixel_values(image, *this);
}

Tensor clip_pixel_values(const io::Image& image, const CLIPImageProcessor& processor) {
  io::Image rgb = io::to_rgb(image);
  if (processor.do_resize) rgb = resized(rgb, processor);
  if (processor.do_center_crop) rgb = center_crop(rgb, processor.crop_size);
  // from_blob wants a mutable pointer; the bytes are only read, and copied by the conversion.
  Tensor bytes = at::from_blob(rgb.pixels.data(), {1, rgb.height, rgb.width, 3},
                               at::TensorOptions().dtype(at::kByte));
  Tensor values = bytes.permute({0, 3, 1, 2}).to(at::kDouble);
  // Rescaled in fp64 and normalised in fp32, as the reference does.
  if (processor.do_rescale) values = values * processor.rescale_factor;
  values = values.to(at::kFloat).contiguous();
  if (!processor.do_normalize) return values;
  return (values - per_channel(processor.image_mean)) / per_channel(processor.image_std);
}

}  // namespace omnirt::blocks
