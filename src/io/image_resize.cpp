#include "io/image_resize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/error.hpp"
#include "io/image_arithmetic.hpp"

// Reference: Pillow, src/libImaging/Resample.c and, for the nearest pixel, Geometry.c.
namespace omnirt::io {
namespace {

struct Filter {
  double (*value)(double);
  double support;
};

double triangle(double x) {
  return std::max(0.0, 1.0 - std::fabs(x));
}

// Keys' cubic convolution with a = -1/2.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos3(double x) {
  return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

// 8 bits of pixel and 2 bits of headroom leave 22 of an int32 for a coefficient.
constexpr int precision_bits = 32 - 8 - 2;

// For each output position: the first input position, how many follow, and their weights.
struct Weights {
  int64_t stride = 0;
  std::vector<int64_t> first;
  std::vector<int64_t> count;
  std::vector<int32_t> values;  // outputs * stride
};

int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << precision_bits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

Weights make_weights(int64_t in_size, int64_t out_size, const Filter& filter) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter.support * filter_scale;
  const double step = 1.0 / filter_scale;
  Weights weights;
  weights.stride = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  weights.values.resize(static_cast<size_t>(out_size * weights.stride));
  std::vector<double> row(static_cast<size_t>(weights.stride));
  for (int64_t i = 0; i < out_size; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto last = std::min<int64_t>(in_size, static_cast<int64_t>(center + support + 0.5));
    double sum = 0.0;
    for (int64_t x = first; x < last; ++x) {
      row[x - first] = filter.value((static_cast<double>(x) - center + 0.5) * step);
      sum += row[x - first];
    }
    weights.first.push_back(first);
    weights.count.push_back(last - first);
    for (int64_t k = 0; k < last - first; ++k) {
      if (sum != 0.0) row[k] /= sum;
      weights.values[i * weights.stride + k] = to_fixed(row[k]);
    }
  }
  return weights;
}

uint8_t clip(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> precision_bits, 0, 255));
}

constexpr int32_t half = 1 << (precision_bits - 1);

template <int channels>
void resample_row(const uint8_t* in, const Weights& weights, int64_t out_width, uint8_t* out) {
  for (int64_t x = 0; x < out_width; ++x, out += channels) {
    const uint8_t* pixel = in + weights.first[x] * channels;
    const int32_t* weight = weights.values.data() + x * weights.stride;
    int32_t sums[channels];
    std::fill_n(sums, channels, half);
    for (int64_t k = 0; k < weights.count[x]; ++k, pixel += channels) {
      for (int c = 0; c < channels; ++c) sums[c] += pixel[c] * weight[k];
    }
    for (int c = 0; c < channels; ++c) out[c] = clip(sums[c]);
  }
}

Image resample_across(const Image& image, int64_t width, const Filter& filter) {
  const Weights weights = make_weights(image.width, width, filter);
  Image result = Image::zeros(width, image.height, image.channels);
  const auto resample = image.channels == 1   ? resample_row<1>
                        : image.channels == 3 ? resample_row<3>
                                              : resample_row<4>;
  for (int64_t y = 0; y < image.height; ++y) resample(image.row(y), weights, width, result.row(y));
  return result;
}

Image resample_down(const Image& image, int64_t height, const Filter& filter) {
  const Weights weights = make_weights(image.height, height, filter);
  Image result = Image::zeros(image.width, height, image.channels);
  std::vector<int32_t> sums(image.row_bytes());
  for (int64_t y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), half);
    for (int64_t k = 0; k < weights.count[y]; ++k) {
      const uint8_t* in = image.row(weights.first[y] + k);
      const int32_t weight = weights.values[y * weights.stride + k];
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += in[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), result.row(y), clip);
  }
  return result;
}

// So that the colour of transparent pixels does not bleed into others.
void multiply_alpha(Image& image) {
  for (size_t i = 0; i < image.pixels.size(); i += 4) {
    uint8_t* pixel = image.pixels.data() + i;
    for (int c = 0; c < 3; ++c) pixel[c] = multiply_255(pixel[c], pixel[3]);
  }
}

void divide_alpha(Image& image) {
  for (size_t i = 0; i < image.pixels.size(); i += 4) {
    uint8_t* pixel = image.pixels.data() + i;
    const int alpha = pixel[3];
    if (alpha == 0 || alpha == 255) continue;
    for (int c = 0; c < 3; ++c) {
      pixel[c] = static_cast<uint8_t>(std::min(255, 255 * pixel[c] / alpha));
    }
  }
}

void check_size(int64_t width, int64_t height) {
  const ImageLimits limits;
  if (width >= 1 && height >= 1 && width <= limits.max_side && height <= limits.max_side &&
      width * height <= limits.max_pixels) {
    return;
  }
  throw InvalidRequest(Finding{"size", fmt::format("{}x{}", width, height),
                               fmt::format("a side is 1 to {} pixels and an image at most {}",
                                           limits.max_side, limits.max_pixels),
                               ""});
}

Image resize(const Image& image, int64_t width, int64_t height, const Filter& filter) {
  check_size(width, height);
  if (width == image.width && height == image.height) return image;
  Image result = image;
  if (image.channels == 4) multiply_alpha(result);
  // Each pass rounds to 8 bits, so their order shows. The rule is Pillow 13's (earlier versions
  // always go across first).
  const int64_t lost_rows = image.height - height;
  const bool down_first = lost_rows > 0 && lost_rows > 2 * (image.width - width);
  if (down_first) result = resample_down(result, height, filter);
  if (width != image.width) result = resample_across(result, width, filter);
  if (!down_first && height != image.height) result = resample_down(result, height, filter);
  if (image.channels == 4) divide_alpha(result);
  return result;
}

// The positions add up step by step, rounding errors included, as Pillow's do.
std::vector<int64_t> nearest_positions(int64_t in_size, int64_t out_size) {
  const double step = static_cast<double>(in_size) / static_cast<double>(out_size);
  std::vector<int64_t> positions;
  double at = step * 0.5;
  for (int64_t i = 0; i < out_size; ++i, at += step) {
    positions.push_back(std::min(static_cast<int64_t>(at), in_size - 1));
  }
  return positions;
}

}  // namespace

Image resize_nearest(const Image& image, int64_t width, int64_t height) {
  check_size(width, height);
  if (width == image.width && height == image.height) return image;
  const std::vector<int64_t> columns = nearest_positions(image.width, width);
  const std::vector<int64_t> rows = nearest_positions(image.height, height);
  Image result = Image::zeros(width, height, image.channels);
  uint8_t* out = result.pixels.data();
  for (int64_t row : rows) {
    for (int64_t column : columns) {
      std::memcpy(out, image.row(row) + column * image.channels, image.channels);
      out += image.channels;
    }
  }
  return result;
}

Image resize_bilinear(const Image& image, int64_t width, int64_t height) {
  return resize(image, width, height, {triangle, 1.0});
}

Image resize_bicubic(const Image& image, int64_t width, int64_t height) {
  return resize(image, width, height, {cubic, 2.0});
}

Image resize_lanczos(const Image& image, int64_t width, int64_t height) {
  return resize(image, width, height, {lanczos3, 3.0});
}

namespace {

// How much one pixel of the source counts for one of the result.
struct Share {
  int64_t source, result;
  float weight;
};

// Along one axis, in the order of the results (as OpenCV's resize splits areas).
std::vector<Share> area_shares(int64_t from, int64_t to) {
  std::vector<Share> shares;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double begin = static_cast<double>(i) * scale, end = begin + scale;
    const double width = std::min(scale, static_cast<double>(from) - begin);
    auto first = static_cast<int64_t>(std::ceil(begin));
    auto last = std::min(static_cast<int64_t>(std::floor(end)), from - 1);
    first = std::min(first, last);
    constexpr double little = 1e-3;
    auto add = [&](int64_t source, double part) {
      shares.push_back({source, i, static_cast<float>(part / width)});
    };
    if (static_cast<double>(first) - begin > little)
      add(first - 1, static_cast<double>(first) - begin);
    for (int64_t source = first; source < last; ++source) add(source, 1.0);
    const double rest = end - static_cast<double>(last);
    if (rest > little) add(last, std::min({rest, 1.0, width}));
  }
  return shares;
}

uint8_t rounded_share(float value) {
  return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0F, 255.0F));
}

// Sides that are whole multiples: OpenCV adds the pixels up as integers.
Image whole_areas(const Image& image, int64_t width, int64_t height) {
  const int64_t wide = image.width / width, high = image.height / height;
  const bool halved = wide == 2 && high == 2;
  Image made = Image::zeros(width, height, image.channels);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t i = 0; i < width * image.channels; ++i) {
      const int64_t x = i / image.channels * wide * image.channels + i % image.channels;
      int sum = 0;
      for (int64_t row = 0; row < high; ++row) {
        for (int64_t column = 0; column < wide; ++column)
          sum += image.row(y * high + row)[x + column * image.channels];
      }
      const float share = 1.0F / static_cast<float>(wide * high);
      made.row(y)[i] = halved ? static_cast<uint8_t>((sum + 2) >> 2)
                              : rounded_share(static_cast<float>(sum) * share);
    }
  }
  return made;
}

}  // namespace

Image resize_area(const Image& image, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > image.width || height > image.height)
    throw InvalidRequest({"size", fmt::format("{}x{}", width, height),
                          fmt::format("not within the image's {}x{}", image.width, image.height),
                          ""});
  if (image.width % width == 0 && image.height % height == 0)
    return whole_areas(image, width, height);
  const auto columns = area_shares(image.width, width), rows = area_shares(image.height, height);
  const int64_t channels = image.channels;
  const auto row_size = static_cast<size_t>(width * channels);
  std::vector<float> sums(row_size * static_cast<size_t>(height)), across(row_size);
  for (const Share& row : rows) {
    std::ranges::fill(across, 0.0F);
    for (const Share& column : columns) {
      for (int64_t c = 0; c < channels; ++c)
        across[static_cast<size_t>(column.result * channels + c)] +=
            static_cast<float>(image.row(row.source)[column.source * channels + c]) * column.weight;
    }
    float* into = &sums[row_size * static_cast<size_t>(row.result)];
    for (size_t i = 0; i < row_size; ++i) into[i] += row.weight * across[i];
  }
  Image made = Image::zeros(width, height, channels);
  std::ranges::transform(sums, made.pixels.begin(), rounded_share);
  return made;
}

}  // namespace omnirt::io
