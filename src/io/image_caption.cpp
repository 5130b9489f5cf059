#include "io/image_caption.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/ensure.hpp"

namespace omnirt::io {
namespace {

// Aileron Regular (CC0), 12 pixels: the glyphs from the space on, one hex digit per pixel, row
// after row (tools/caption_font.py).
constexpr std::array<std::string_view, 95> glyphs{
#include "io/image_caption_font.inc"
};
constexpr int64_t glyph_rows = 15;
constexpr int64_t margin = 6;  // between an image and its caption
constexpr size_t most_lines = 3;

std::string_view glyph_of(char c) {
  return c >= ' ' && c <= '~' ? glyphs[static_cast<size_t>(c - ' ')] : glyphs['?' - ' '];
}

int64_t advance(std::string_view glyph) {
  return static_cast<int64_t>(glyph.size()) / glyph_rows;
}

int64_t width_of(std::string_view text) {
  int64_t width = 0;
  for (char c : text) width += advance(glyph_of(c));
  return width;
}

std::vector<std::string> lines_of(std::string_view text, int64_t width) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size();) {
    size_t end = std::min(text.find(' ', i), text.size());
    std::string word(text.substr(i, end - i));
    i = end + 1;
    if (word.empty()) continue;
    if (!lines.empty() && width_of(lines.back() + " " + word) <= width)
      lines.back() += " " + word;
    else if (lines.size() < most_lines)
      lines.push_back(std::move(word));
    else
      break;
  }
  return lines;
}

int level_of(char digit) {
  return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

// Darkens the pixels of a glyph whose top left corner is at (x, y); what is outside is left out.
void draw(std::string_view glyph, Image& image, int64_t x, int64_t y) {
  int64_t width = advance(glyph);
  for (int64_t i = 0; i < width * glyph_rows; ++i) {
    int64_t column = x + i % width, row = y + i / width;
    if (column < 0 || column >= image.width || row >= image.height) continue;
    int ink = 17 * level_of(glyph[static_cast<size_t>(i)]);
    uint8_t* pixel = image.row(row) + 3 * column;
    for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(std::max(pixel[c] - ink, 0));
  }
}

Image captioned(const Image& image, const std::vector<std::string>& lines, size_t height) {
  int64_t below = margin + glyph_rows * static_cast<int64_t>(height);
  Image page = Image::zeros(image.width, image.height + below, 3);
  std::ranges::copy(to_rgb(image).pixels, page.pixels.begin());
  std::fill(page.row(image.height), page.pixels.data() + page.pixels.size(), uint8_t{255});
  int64_t y = image.height + margin;
  for (const std::string& line : lines) {
    int64_t x = (image.width - width_of(line)) / 2;
    for (char c : line) {
      draw(glyph_of(c), page, x, y);
      x += advance(glyph_of(c));
    }
    y += glyph_rows;
  }
  return page;
}

}  // namespace

std::vector<Image> with_captions(std::span<const Image> images,
                                 std::span<const std::string> captions) {
  ensure(images.size() == captions.size(), "one caption per image");
  std::vector<std::vector<std::string>> lines;
  size_t height = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    lines.push_back(lines_of(captions[i], images[i].width));
    height = std::max(height, lines.back().size());
  }
  std::vector<Image> pages;
  for (size_t i = 0; i < images.size(); ++i)
    pages.push_back(captioned(images[i], lines[i], height));
  return pages;
}

}  // namespace omnirt::io
