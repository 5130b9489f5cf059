#include "io/image_edges.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace omnirt::io {
namespace {

struct Gradient {
  int16_t dx = 0, dy = 0;
  int strength() const { return std::abs(int{dx}) + std::abs(int{dy}); }
};

// A pixel's gradient in one channel.
Gradient sobel(const Image& image, int64_t x, int64_t y, int64_t channel) {
  auto at = [&](int64_t column, int64_t row) {
    column = std::clamp<int64_t>(column, 0, image.width - 1);
    row = std::clamp<int64_t>(row, 0, image.height - 1);
    return int{image.row(row)[column * image.channels + channel]};
  };
  int dx = at(x + 1, y - 1) - at(x - 1, y - 1) + 2 * (at(x + 1, y) - at(x - 1, y)) +
           at(x + 1, y + 1) - at(x - 1, y + 1);
  int dy = at(x - 1, y + 1) - at(x - 1, y - 1) + 2 * (at(x, y + 1) - at(x, y - 1)) +
           at(x + 1, y + 1) - at(x + 1, y - 1);
  return {static_cast<int16_t>(dx), static_cast<int16_t>(dy)};
}

class Edges {
 public:
  Edges(const Image& image, int low, int high)
      : width_(image.width), height_(image.height), low_(low), high_(high) {
    gradients_.reserve(static_cast<size_t>(width_ * height_));
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t x = 0; x < width_; ++x) gradients_.push_back(strongest(image, x, y));
    }
  }

  Image found() {
    Image edges = Image::zeros(width_, height_, 1);
    std::vector<std::pair<int64_t, int64_t>> open;
    ridges_.assign(gradients_.size(), false);
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t x = 0; x < width_; ++x) {
        if (!is_ridge(x, y)) continue;
        ridges_[place(x, y)] = true;
        if (strength(x, y) > high_) open.emplace_back(x, y);
      }
    }
    for (auto [x, y] : open) edges.row(y)[x] = edge;
    while (!open.empty()) {
      auto [x, y] = open.back();
      open.pop_back();
      spread(edges, x, y, open);
    }
    return edges;
  }

 private:
  static constexpr uint8_t edge = 255;

  static Gradient strongest(const Image& image, int64_t x, int64_t y) {
    Gradient best = sobel(image, x, y, 0);
    for (int64_t channel = 1; channel < std::min<int64_t>(image.channels, 3); ++channel) {
      Gradient other = sobel(image, x, y, channel);
      if (other.strength() > best.strength()) best = other;
    }
    return best;
  }

  size_t place(int64_t x, int64_t y) const { return static_cast<size_t>(y * width_ + x); }
  // 0 beyond the image.
  int strength(int64_t x, int64_t y) const {
    bool inside = x >= 0 && y >= 0 && x < width_ && y < height_;
    return inside ? gradients_[place(x, y)].strength() : 0;
  }

  // Whether no neighbour along the gradient is stronger. The gradient's direction is one of four,
  // chosen by the tangent of 22.5 degrees in 15 bits; of equal neighbours the first counts.
  bool is_ridge(int64_t x, int64_t y) const {
    constexpr int bits = 15, tangent = 13573;
    int own = strength(x, y);
    if (own <= low_) return false;
    const Gradient& at = gradients_[place(x, y)];
    int wide = std::abs(int{at.dx}) * tangent, high = std::abs(int{at.dy}) << bits;
    if (high < wide) return own > strength(x - 1, y) && own >= strength(x + 1, y);
    if (high > wide + (std::abs(int{at.dx}) << (bits + 1)))
      return own > strength(x, y - 1) && own >= strength(x, y + 1);
    int64_t along = (at.dx ^ at.dy) < 0 ? -1 : 1;
    return own > strength(x - along, y - 1) && own > strength(x + along, y + 1);
  }

  void spread(Image& edges, int64_t x, int64_t y,
              std::vector<std::pair<int64_t, int64_t>>& open) const {
    for (int64_t row = std::max<int64_t>(0, y - 1); row <= std::min(height_ - 1, y + 1); ++row) {
      for (int64_t column = std::max<int64_t>(0, x - 1); column <= std::min(width_ - 1, x + 1);
           ++column) {
        if (!ridges_[place(column, row)] || edges.row(row)[column] == edge) continue;
        edges.row(row)[column] = edge;
        open.emplace_back(column, row);
      }
    }
  }

  int64_t width_, height_;
  int low_, high_;
  std::vector<Gradient> gradients_;
  std::vector<bool> ridges_;
};

}  // namespace

Image canny_edges(const Image& image, int low, int high) {
  if (low > high) std::swap(low, high);
  return Edges(image, low, high).found();
}

}  // namespace omnirt::io
