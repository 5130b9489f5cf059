// Speed of the Winograd convolutions at the shapes of SD1.5's UNet and VAE, in GFLOP/s of the
// direct sum's arithmetic, in fp32 and, where the processor has products of these, with products of
// bf16, by Winograd and directly: winograd [threads] [repeats] [f32|f16|bf16]. The best of the
// repeats counts.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "backends/cpu/simd/winograd.hpp"

namespace {

using namespace omnirt::cpu;

struct Case {
  int64_t batch, in, out, size;
};

constexpr Case cases[] = {{2, 320, 320, 64},   {2, 640, 320, 64},   {2, 960, 320, 64},
                          {2, 640, 640, 32},   {2, 960, 640, 32},   {2, 1920, 640, 32},
                          {2, 1280, 1280, 16}, {2, 2560, 1280, 16}, {2, 1280, 1280, 8},
                          {1, 512, 512, 64},   {1, 512, 512, 128},  {1, 256, 256, 256},
                          {1, 128, 128, 512}};

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return values;
}

enum class Way { four, four_bf16, two_bf16, direct_bf16 };

double best_seconds(const Case& c, WeightType type, Way way, int repeats) {
  WinogradShape shape{.batch = c.batch,
                      .in_channels = c.in,
                      .out_channels = c.out,
                      .in_height = c.size,
                      .in_width = c.size};
  const int64_t pixels = c.batch * c.size * c.size;
  const std::vector<float> x = numbers(pixels * c.in), weights = numbers(c.in * c.out * 9);
  std::vector<float> y(static_cast<size_t>(pixels * c.out));
  const ConvStrides in{c.size * c.size * c.in, c.size * c.in, c.in};
  const ConvStrides out{c.size * c.size * c.out, c.size * c.out, c.out};
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (way == Way::direct_bf16) {
      conv_rounded({shape, 3, {x.data(), in}, {weights.data(), type}, nullptr, {}, y.data(), out});
    } else {
      const ConvChoice form = way == Way::four        ? ConvChoice::winograd4
                              : way == Way::four_bf16 ? ConvChoice::winograd4_bf16
                                                      : ConvChoice::winograd2_bf16;
      winograd_conv(form, shape, {x.data(), in}, {weights.data(), type}, {}, y.data(), out);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_team_size(std::atoi(argv[1]));
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 10;
  WeightType type = WeightType::f32;
  if (argc > 3 && std::strcmp(argv[3], "f16") == 0) type = WeightType::f16;
  if (argc > 3 && std::strcmp(argv[3], "bf16") == 0) type = WeightType::bf16;
  for (const Case& c : cases) {
    const double operations =
        2.0 * 9 * static_cast<double>(c.in * c.out * c.size * c.size * c.batch);
    std::printf("%5lld -> %5lld @ %3lld, batch %lld", static_cast<long long>(c.in),
                static_cast<long long>(c.out), static_cast<long long>(c.size),
                static_cast<long long>(c.batch));
    for (const Way way : {Way::four, Way::four_bf16, Way::two_bf16, Way::direct_bf16}) {
      if (way != Way::four && !winograd_bf16_available()) continue;
      const double seconds = best_seconds(c, type, way, repeats);
      std::printf("  %8.2f ms %7.1f GFLOP/s", seconds * 1e3, operations / seconds * 1e-9);
    }
    std::printf("\n");
  }
}
