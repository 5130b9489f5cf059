// Speed of the Winograd convolutions, in GFLOP/s of the direct sum's arithmetic.
#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/cpu/simd/thread_team.hpp"
#include "backends/cpu/simd/winograd.hpp"

using namespace omnirt::cpu;

namespace {
struct Case {
  int64_t batch, in, out, size;
};
constexpr Case cases[] = {{2, 320, 320, 64},   {2, 640, 320, 64},  {2, 960, 320, 64}, {2, 640, 640, 32},
                          {2, 960, 640, 32},   {2, 1920, 640, 32}, {2, 1280, 1280, 16},
                          {2, 2560, 1280, 16}, {2, 1280, 1280, 8}, {1, 512, 512, 64},
                          {1, 512, 512, 128},  {1, 256, 256, 256}, {1, 128, 128, 512}};

std::vector<float> fill(size_t n) {
  std::vector<float> v(n);
  uint32_t s = 1;
  for (float& f : v) f = static_cast<float>(static_cast<int32_t>(s = s * 1664525u + 1013904223u)) * 1e-10f;
  return v;
}

bool cpu_time = false;
double seconds() {
  timespec now;
  clock_gettime(cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
}  // namespace

int main(int argc, char** argv) {
  set_team_size(argc > 1 ? atoi(argv[1]) : 1);
  cpu_time = team_size() == 1;
  const int repeats = argc > 2 ? atoi(argv[2]) : 3;
  const int only = argc > 3 ? atoi(argv[3]) : -1;
  int index = 0;
  for (const Case& c : cases) {
    if (only >= 0 && only != index++) continue;
    WinogradShape shape;
    shape.batch = c.batch;
    shape.in_channels = c.in;
    shape.out_channels = c.out;
    shape.in_height = shape.in_width = c.size;
    const auto x = fill(c.batch * c.in * c.size * c.size), w = fill(c.in * c.out * 9);
    std::vector<float> y(c.batch * c.out * c.size * c.size);
    const ConvStrides xs{c.size * c.size * c.in, c.size * c.in, c.in};
    const ConvStrides ys{c.size * c.size * c.out, c.size * c.out, c.out};
    double best = 1e9;
    for (int r = 0; r < repeats; ++r) {
      const double start = seconds();
      winograd_conv(ConvChoice::winograd4, shape, {x.data(), xs}, {w.data(), WeightType::f32}, {}, y.data(), ys);
      best = std::min(best, seconds() - start);
    }
    const double flop = 2.0 * 9 * c.in * c.out * c.size * c.size * c.batch;
    std::printf("%5ld->%5ld @%3ld b%ld  %8.2f ms  %7.1f GFLOP/s\n", c.in, c.out, c.size, c.batch, best * 1e3,
                flop / best / 1e9);
  }
}
