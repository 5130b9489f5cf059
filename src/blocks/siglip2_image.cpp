#include "blocks/siglip2_image.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "base/whole_number.hpp"
#include "nn/config_check.hpp"

namespace omnirt::blocks {
namespace {

// Which of `from` values each of `to` is made of, and how much of each.
struct Taps {
  std::vector<std::vector<std::pair<int64_t, float>>> each;
  size_t most = 0;
};

Taps bilinear_taps(int64_t from, int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float support = std::max(scale, 1.0F), inverse = scale >= 1 ? 1.0F / scale : 1.0F;
  Taps taps;
  for (int64_t i = 0; i < to; ++i) {
    const float centre = scale * (static_cast<float>(i) + 0.5F);
    const auto first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5F), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(centre + support + 0.5F), from);
    auto& list = taps.each.emplace_back();
    float sum = 0;
    for (int64_t k = first; k < last; ++k) {
      const float away = std::abs((static_cast<float>(k) - centre + 0.5F) * inverse);
      const float weight = away < 1 ? 1 - away : 0;
      if (weight > 0) list.emplace_back(k, weight);
      sum += weight;
    }
    for (auto& [k, weight] : list) weight /= sum;
    taps.most = std::max(taps.most, list.size());
  }
  return taps;
}

// Patches that have fewer places than others have the rest with no weight.
nn::GridPositions grid_positions(int64_t side, int64_t rows, int64_t columns) {
  const Taps down = bilinear_taps(side, rows), across = bilinear_taps(side, columns);
  const auto most = static_cast<int64_t>(down.most * across.most), patches = rows * columns;
  nn::GridPositions made{at::zeros({most, 1, patches}, at::kLong),
                         at::zeros({most, 1, patches, 1}, at::kFloat)};
  auto* place = made.places.mutable_data_ptr<int64_t>();
  auto* weight = made.weights.mutable_data_ptr<float>();
  for (int64_t i = 0; i < patches; ++i) {
    int64_t tap = i;
    for (auto [y, of_row] : down.each[static_cast<size_t>(i / columns)]) {
      for (auto [x, of_column] : across.each[static_cast<size_t>(i % columns)]) {
        place[tap] = y * side + x;
        weight[tap] = of_row * of_column;
        tap += patches;
      }
    }
  }
  return made;
}

}  // namespace

std::array<int64_t, 2> siglip2_patches(int64_t height, int64_t width, int64_t patch_size,
                                       int64_t max_num_patches) {
  constexpr double eps = 1e-5, largest_scale = 100.0;
  auto in_patches = [patch_size](double scale, int64_t side) {
    const double pixels = static_cast<double>(side) * scale;
    return std::max<int64_t>(
        1, static_cast<int64_t>(std::ceil(pixels / static_cast<double>(patch_size))));
  };
  double least = eps / 10, most = largest_scale;
  while (most - least >= eps) {
    const double scale = (least + most) / 2;
    const bool fits = in_patches(scale, height) * in_patches(scale, width) <= max_num_patches;
    (fits ? least : most) = scale;
  }
  return {in_patches(least, height), in_patches(least, width)};
}

Tensor Siglip2ImageProcessor::pixel_values(const io::Image& image) const {
  CLIPImageProcessor sized = pixels;
  auto [rows, columns] = siglip2_patches(image.height, image.width, patch_size, max_num_patches);
  sized.size = {rows * patch_size, columns * patch_size};
  return clip_pixel_values(image, sized);
}

Siglip2ImageProcessor read_siglip2_image_processor(const Json& json, const std::string& where) {
  constexpr int64_t bilinear = 2;
  Siglip2ImageProcessor made;
  nn::ConfigCheck check(where);
  Json rest = json.is_object() ? json : Json::object();
  auto take = [&](const char* name, int64_t& value, int64_t most) {
    const Json given = rest.value(name, Json());
    if (const auto number = whole_number(given))
      value = *number;
    else
      check.expect(given.is_null(), name, shown(given), "not a whole number");
    rest.erase(name);
    check.range(name, value, 1, most);
  };
  take("patch_size", made.patch_size, 1 << 10);
  take("max_num_patches", made.max_num_patches, 1 << 14);
  check.expect(rest.value("do_resize", Json(true)) != Json(false), "do_resize", "false",
               "an image must be made up of whole patches");
  check.finish();
  if (!rest.contains("resample") || rest["resample"].is_null()) rest["resample"] = bilinear;
  for (const char* name : {"size", "crop_size", "do_center_crop"}) rest.erase(name);
  made.pixels = read_siglip_image_processor(rest, where);
  return made;
}

ImageProcessorInfo siglip2_image_processor_info() {
  return {.class_names = {"Siglip2ImageProcessor", "Siglip2ImageProcessorFast",
                          "Siglip2ImageProcessorPil"},
          .make =
              [](const Json& config, const std::string& where) {
                return std::make_shared<const Siglip2ImageProcessor>(
                    read_siglip2_image_processor(config, where));
              },
          .summary = "SigLIP2's way to resize an image in its proportions and normalise it"};
}

Siglip2Image siglip2_image(const Siglip2VisionConfig& config, const Tensor& pixels) {
  const int64_t patch = config.patch_size;
  const int64_t rows = pixels.size(2) / patch, columns = pixels.size(3) / patch;
  Tensor patches = pixels.reshape({3, rows, patch, columns, patch})
                       .permute({1, 3, 2, 4, 0})
                       .reshape({1, rows * columns, patch * patch * 3});
  return {patches, grid_positions(config.grid_side(), rows, columns)};
}

}  // namespace omnirt::blocks
