// The kernels that move pixels about: plain copies and sums, which need no SIMD of their own.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/simd/elementwise.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

// Calls body(item) for [0, items), each of which writes `floats` floats; in groups worth a thread.
template <class Body>
void for_rows(int64_t items, int64_t floats, const Body& body) {
  const int64_t group = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, floats));
  const int64_t groups = (items + group - 1) / group;
  const auto run = [&](int64_t at, int) {
    const int64_t end = std::min(items, (at + 1) * group);
    for (int64_t item = at * group; item < end; ++item) body(item);
  };
  if (groups >= 3) return parallel_for(groups, run);
  for (int64_t at = 0; at < groups; ++at) run(at, 0);
}

void copy(float* to, const float* from, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

int64_t nearest(int64_t index, int64_t in, int64_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const float at = std::floor(static_cast<float>(index) * scale);
  return std::min(static_cast<int64_t>(at), in - 1);
}

// One row of an image, stretched.
void stretch_row(const float* x, int64_t in, int64_t out, int64_t channels, float* y) {
  for (int64_t column = 0; column < out; ++column) {
    const float* from = x + nearest(column, in, out) * channels;
    if (channels == 1) {
      y[column] = *from;
    } else {
      copy(y + column * channels, from, channels);
    }
  }
}

// y[w][c] = mean over the window; `x` is the first of the `size` rows.
void pool_row(const float* x, int64_t width, int64_t channels, int64_t size, float* y) {
  const int64_t out = width / size;
  const float by = 1.0f / static_cast<float>(size * size);
  std::fill(y, y + out * channels, 0.0f);
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < out * size; ++column) {
      const float* from = x + (row * width + column) * channels;
      float* to = y + column / size * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
    }
  }
  for (int64_t i = 0; i < out * channels; ++i) y[i] *= by;
}

}  // namespace

void concat_rows(int64_t rows, const float* first, int64_t first_width, const float* second,
                 int64_t second_width, float* y) {
  const int64_t width = first_width + second_width;
  for_rows(rows, width, [&](int64_t row) {
    copy(y + row * width, first + row * first_width, first_width);
    copy(y + row * width + first_width, second + row * second_width, second_width);
  });
}

void upsample_nearest(const ImageShape& shape, const float* x, int64_t height, int64_t width,
                      float* y) {
  const int64_t from_row = shape.width * shape.channels, to_row = width * shape.channels;
  for_rows(shape.batch * height, to_row, [&](int64_t item) {
    const int64_t sample = item / height, row = item % height;
    const int64_t from = sample * shape.height + nearest(row, shape.height, height);
    stretch_row(x + from * from_row, shape.width, width, shape.channels, y + item * to_row);
  });
}

void avg_pool(const ImageShape& shape, const float* x, int64_t size, float* y) {
  const int64_t height = shape.height / size, to_row = shape.width / size * shape.channels;
  const int64_t from_row = shape.width * shape.channels;
  for_rows(shape.batch * height, to_row * size * size, [&](int64_t item) {
    const int64_t from = item / height * shape.height + item % height * size;
    pool_row(x + from * from_row, shape.width, shape.channels, size, y + item * to_row);
  });
}

}  // namespace omnirt::cpu
