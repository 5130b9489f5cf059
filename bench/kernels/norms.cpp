// Rates of the norms and maps, in GB/s of x read once and y written once (a plain copy of the same
// size is the first line), for the shapes of Stable Diffusion's UNet and VAE at 512x512.
// Usage: norms [threads...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "backends/cpu/simd/elementwise.hpp"
#include "backends/cpu/simd/group_norm.hpp"
#include "backends/cpu/simd/layer_norm.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace {

using namespace omnirt::cpu;

struct Map {
  int64_t batch, pixels, channels;
};

constexpr Map maps[] = {{2, 4096, 320},  {2, 1024, 640},  {2, 256, 1280},
                        {2, 64, 1280},   {2, 4096, 960},  {1, 4096, 512},
                        {1, 16384, 512}, {1, 65536, 256}, {1, 262144, 128}};

template <class Call>
double seconds_of(const Call& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 3 || Clock::now() - start < std::chrono::milliseconds(200); ++i) {
    const Clock::time_point from = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - from).count());
  }
  return best;
}

template <class Call>
void measure(const char* what, const Map& map, const Call& call) {
  const double seconds = seconds_of(call);
  const double bytes = 8.0 * static_cast<double>(map.batch * map.pixels * map.channels);
  std::printf("  %-22s %9.3f ms  %6.1f GB/s\n", what, seconds * 1e3, bytes / seconds * 1e-9);
}

void measure_map(const Map& map) {
  std::printf("{%d, %d pixels, %d channels}\n", static_cast<int>(map.batch),
              static_cast<int>(map.pixels), static_cast<int>(map.channels));
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  const int64_t count = map.batch * map.pixels * map.channels;
  std::vector<float> x(static_cast<size_t>(count)), y(x.size()), w(4096, 1.0f);
  for (float& value : x) value = normal(engine);
  const int64_t sample = map.pixels * map.channels, c = map.channels;
  const GroupNormShape shape{map.batch, map.pixels, c, 32, 1e-5};
  const auto norm = [&](Activation activation) {
    group_norm(shape, {x.data(), sample, c}, w.data(), w.data(), activation, {y.data(), sample, c});
  };
  std::vector<float> scale(static_cast<size_t>(map.batch * c)), shift(scale.size());
  measure("copy", map, [&] { affine(x.data(), count, 1.0f, 0.0f, y.data()); });
  measure("group_norm", map, [&] { norm(Activation::none); });
  measure("group_norm + silu", map, [&] { norm(Activation::silu); });
  measure("scale and shift only", map, [&] {
    group_norm_scale_shift(shape, {x.data(), sample, c}, w.data(), w.data(), scale.data(),
                           shift.data());
  });
  measure("layer_norm", map, [&] {
    layer_norm({x.data(), w.data(), w.data(), y.data(), map.batch * map.pixels, c, c, c, 1e-5});
  });
  measure("add", map, [&] { add(x.data(), x.data(), count, 1.0f, y.data()); });
  measure("silu", map, [&] { activate(x.data(), count, Activation::silu, y.data()); });
  measure("gelu", map, [&] { activate(x.data(), count, Activation::gelu, y.data()); });
  measure("geglu", map, [&] { geglu(x.data(), map.batch * map.pixels, c / 2, c, y.data()); });
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = argc > 1 ? 1 : 0; i < std::max(argc, 1); ++i) {
    if (argc > 1) set_team_size(std::max(1, std::atoi(argv[i])));
    std::printf("threads %d\n", team_size());
    for (const Map& map : maps) measure_map(map);
  }
}
