// Speed of the int8 products, in 10^9 multiplications and additions a second of the plain sum.
//   int8 [threads] [repeats] [vnni]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_view.hpp"
#include "backends/cpu/simd/thread_team.hpp"

using namespace omnirt::cpu;

namespace {

std::vector<float> fill(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& value : values)
    value =
        static_cast<float>(static_cast<int32_t>(state = state * 1664525u + 1013904223u)) * 1e-9f;
  return values;
}

// With one thread, processor time: other work on the machine then does not count.
double seconds() {
  timespec now{};
  clock_gettime(team_size() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Body>
double least_seconds(int repeats, const Body& body) {
  double best = 1e9;
  for (int r = 0; r < repeats; ++r) {
    const double start = seconds();
    body();
    best = std::min(best, seconds() - start);
  }
  return best;
}

void report(const char* name, double operations, double seconds, size_t bytes) {
  std::printf("%-34s %9.3f ms %8.1f G/s   packed %.1f MB\n", name, seconds * 1e3,
              operations / seconds / 1e9, static_cast<double>(bytes) / 1e6);
}

void linear(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, bool gated, int repeats) {
  const int64_t rows = gated ? 2 * n : n;
  const auto x = fill(m * k), w = fill(rows * k);
  std::vector<float> y(static_cast<size_t>(m * n));
  const PackedInt8 packed = pack_int8({w.data(), WeightType::f32, rows, k}, gated);
  GemmArgs args{m, n, k, x.data(), k, y.data(), n, {}};
  args.epilogue.geglu = gated;
  const double seconds = least_seconds(repeats, [&] { int8_linear(kernels, args, packed); });
  char name[64];
  std::snprintf(name, sizeof(name), "linear %ldx%ldx%ld%s", m, n, k, gated ? " geglu" : "");
  report(name, 2.0 * static_cast<double>(m * rows) * static_cast<double>(k), seconds,
         packed.bytes());
}

// A file's bytes, rotated in groups: as they are, and from a packed form.
void stored(const Int8Kernels& kernels, int64_t m, int64_t n, int64_t k, int repeats) {
  const auto x = fill(m * k);
  std::vector<int8_t> bytes(static_cast<size_t>(n * k));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  const std::vector<float> scales(static_cast<size_t>(n), 0.01f);
  std::vector<float> y(static_cast<size_t>(m * n));
  const Int8Matrix matrix{bytes.data(), n, k, int8_group(k), scales.data()};
  const PackedInt8 packed = pack_int8(matrix);
  const GemmArgs args{m, n, k, x.data(), k, y.data(), n, {}};
  const double operations = 2.0 * static_cast<double>(m * n) * static_cast<double>(k);
  char name[64];
  std::snprintf(name, sizeof(name), "rotated %ldx%ldx%ld", m, n, k);
  report(name, operations, least_seconds(repeats, [&] { int8_linear(kernels, args, packed); }),
         packed.bytes());
  std::snprintf(name, sizeof(name), "  from the file as it is");
  report(name, operations, least_seconds(repeats, [&] { int8_linear(kernels, args, matrix); }), 0);
}

void conv(const Int8Kernels& kernels, int64_t batch, int64_t in, int64_t out, int64_t size,
          int repeats) {
  const auto x = fill(batch * in * size * size), w = fill(out * in * 9);
  std::vector<float> y(static_cast<size_t>(batch * out * size * size));
  const PackedInt8 packed = pack_int8_conv({w.data(), WeightType::f32}, out, in, 3, 3);
  Int8ConvShape shape;
  shape.batch = batch;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.in_height = shape.in_width = size;
  const ConvStrides from{size * size * in, size * in, in}, to{size * size * out, size * out, out};
  const double seconds = least_seconds(repeats, [&] {
    int8_conv(kernels, shape, {x.data(), from}, packed, {}, y.data(), to);
  });
  char name[64];
  std::snprintf(name, sizeof(name), "conv3x3 %ld -> %ld @%ld b%ld", in, out, size, batch);
  report(name, 18.0 * static_cast<double>(in * out) * static_cast<double>(size * size * batch),
         seconds, packed.bytes());
}

}  // namespace

int main(int argc, char** argv) {
  set_team_size(argc > 1 ? std::atoi(argv[1]) : 1);
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  const Int8Kernels kernels = int8_kernels(argc <= 3);
  linear(kernels, 8192, 320, 320, false, repeats);
  linear(kernels, 8192, 1280, 320, true, repeats);
  linear(kernels, 8192, 320, 1280, false, repeats);
  linear(kernels, 2048, 640, 640, false, repeats);
  linear(kernels, 2048, 2560, 640, true, repeats);
  linear(kernels, 512, 1280, 1280, false, repeats);
  linear(kernels, 512, 5120, 1280, true, repeats);
  linear(kernels, 154, 768, 768, false, repeats);
  linear(kernels, 2, 1280, 1280, false, repeats);
  for (const int64_t m : {64, 512, 1536}) {
    stored(kernels, m, 1280, 1280, repeats);
    stored(kernels, m, 3072, 3072, repeats);
  }
  conv(kernels, 2, 320, 320, 64, repeats);
  conv(kernels, 2, 640, 640, 32, repeats);
  conv(kernels, 2, 1280, 1280, 16, repeats);
  conv(kernels, 2, 2560, 1280, 8, repeats);
  conv(kernels, 1, 128, 128, 256, repeats);
}
