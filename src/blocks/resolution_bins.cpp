#include "blocks/resolution_bins.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace omnirt::blocks {
namespace {

// Those of 512 and 1024 are twice and four times as large.
constexpr auto bins_256 = std::to_array<ResolutionBin>({
    {0.25, {128, 512}}, {0.28, {128, 464}}, {0.32, {144, 448}}, {0.33, {144, 432}},
    {0.35, {144, 416}}, {0.4, {160, 400}},  {0.42, {160, 384}}, {0.48, {176, 368}},
    {0.5, {176, 352}},  {0.52, {176, 336}}, {0.57, {192, 336}}, {0.6, {192, 320}},
    {0.68, {208, 304}}, {0.72, {208, 288}}, {0.78, {224, 288}}, {0.82, {224, 272}},
    {0.88, {240, 272}}, {0.94, {240, 256}}, {1.0, {256, 256}},  {1.07, {256, 240}},
    {1.13, {272, 240}}, {1.21, {272, 224}}, {1.29, {288, 224}}, {1.38, {288, 208}},
    {1.46, {304, 208}}, {1.67, {320, 192}}, {1.75, {336, 192}}, {2.0, {352, 176}},
    {2.09, {368, 176}}, {2.4, {384, 160}},  {2.5, {400, 160}},  {3.0, {432, 144}},
    {4.0, {512, 128}},
});
constexpr auto bins_2048 = std::to_array<ResolutionBin>({
    {0.25, {1024, 4096}}, {0.26, {1024, 3968}}, {0.27, {1024, 3840}}, {0.28, {1024, 3712}},
    {0.32, {1152, 3584}}, {0.33, {1152, 3456}}, {0.35, {1152, 3328}}, {0.4, {1280, 3200}},
    {0.42, {1280, 3072}}, {0.48, {1408, 2944}}, {0.5, {1408, 2816}},  {0.52, {1408, 2688}},
    {0.57, {1536, 2688}}, {0.6, {1536, 2560}},  {0.68, {1664, 2432}}, {0.72, {1664, 2304}},
    {0.78, {1792, 2304}}, {0.82, {1792, 2176}}, {0.88, {1920, 2176}}, {0.94, {1920, 2048}},
    {1.0, {2048, 2048}},  {1.07, {2048, 1920}}, {1.13, {2176, 1920}}, {1.21, {2176, 1792}},
    {1.29, {2304, 1792}}, {1.38, {2304, 1664}}, {1.46, {2432, 1664}}, {1.67, {2560, 1536}},
    {1.75, {2688, 1536}}, {2.0, {2816, 1408}},  {2.09, {2944, 1408}}, {2.4, {3072, 1280}},
    {2.5, {3200, 1280}},  {2.89, {3328, 1152}}, {3.0, {3456, 1152}},  {3.11, {3584, 1152}},
    {3.62, {3712, 1024}}, {3.75, {3840, 1024}}, {3.88, {3968, 1024}}, {4.0, {4096, 1024}},
});

constexpr auto scaled(auto bins, int64_t factor) {
  for (ResolutionBin& bin : bins) bin.size = {factor * bin.size.height, factor * bin.size.width};
  return bins;
}
constexpr auto bins_512 = scaled(bins_256, 2);
constexpr auto bins_1024 = scaled(bins_256, 4);
constexpr auto bins_4096 = scaled(bins_2048, 2);

}  // namespace

std::span<const ResolutionBin> resolution_bins(int64_t pixels) {
  if (pixels == 256) return bins_256;
  if (pixels == 512) return bins_512;
  if (pixels == 1024) return bins_1024;
  if (pixels == 2048) return bins_2048;
  if (pixels == 4096) return bins_4096;
  return {};
}

PixelSize binned(PixelSize wanted, std::span<const ResolutionBin> bins) {
  double ratio = static_cast<double>(wanted.height) / static_cast<double>(wanted.width);
  return std::ranges::min_element(
             bins, {}, [&](const ResolutionBin& bin) { return std::abs(bin.ratio - ratio); })
      ->size;
}

}  // namespace omnirt::blocks
