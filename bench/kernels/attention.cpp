// Rates of the attention kernel, in GFLOP/s (4 * head_dim operations for each pair of query and
// key), in fp32 and with products of bf16, for the shapes of Stable Diffusion's UNets and VAE.
// Usage: attention [threads...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "backends/cpu/simd/attention.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace {

struct Shape {
  const char* where;
  int64_t batch, heads, head_dim, q_tokens, k_tokens;
};

constexpr Shape shapes[] = {
    {"sd15 64x64 self", 2, 8, 40, 4096, 4096},  {"sd15 32x32 self", 2, 8, 80, 1024, 1024},
    {"sd15 16x16 self", 2, 8, 160, 256, 256},   {"sd15 8x8 self", 2, 8, 160, 64, 64},
    {"sd15 64x64 cross", 2, 8, 40, 4096, 77},   {"sd15 32x32 cross", 2, 8, 80, 1024, 77},
    {"sd15 16x16 cross", 2, 8, 160, 256, 77},   {"sd21 64x64 self", 2, 5, 64, 4096, 4096},
    {"sdxl 32x32 self", 2, 20, 64, 1024, 1024}, {"sdxl 32x32 cross", 2, 20, 64, 1024, 77},
    {"clip text", 2, 12, 64, 77, 77},           {"vae 64x64", 1, 1, 512, 4096, 4096},
};

std::vector<float> random_floats(int64_t count) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

double seconds_of(const omnirt::cpu::AttentionArgs& args,
                  void (*attention)(const omnirt::cpu::AttentionArgs&)) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 3 || Clock::now() - start < std::chrono::milliseconds(600); ++i) {
    const Clock::time_point from = Clock::now();
    attention(args);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - from).count());
  }
  return best;
}

void measure(const Shape& shape) {
  const int64_t width = shape.heads * shape.head_dim;
  const std::vector<float> q = random_floats(shape.batch * shape.q_tokens * width);
  const std::vector<float> k = random_floats(shape.batch * shape.k_tokens * width);
  std::vector<float> y(q.size());
  omnirt::cpu::AttentionArgs args{};
  args.q = {q.data(), shape.q_tokens * width, width, shape.head_dim};
  args.k = args.v = {k.data(), shape.k_tokens * width, width, shape.head_dim};
  args.y = {y.data(), shape.q_tokens * width, width, shape.head_dim};
  args.batch = shape.batch;
  args.heads = shape.heads;
  args.head_dim = shape.head_dim;
  args.q_tokens = shape.q_tokens;
  args.k_tokens = shape.k_tokens;
  args.scale = 0.125f;
  const double seconds = seconds_of(args, &omnirt::cpu::attention);
  const double rounded = seconds_of(args, &omnirt::cpu::attention_bf16);
  const double work = 4.0 * static_cast<double>(shape.batch * width * shape.q_tokens) *
                      static_cast<double>(shape.k_tokens);
  std::printf("%-18s heads %2d x %3d  %4d x %4d  %9.3f ms  %6.1f GFLOP/s  bf16 %9.3f ms  %6.1f\n",
              shape.where, static_cast<int>(shape.heads), static_cast<int>(shape.head_dim),
              static_cast<int>(shape.q_tokens), static_cast<int>(shape.k_tokens), seconds * 1e3,
              work / seconds * 1e-9, rounded * 1e3, work / rounded * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = argc > 1 ? 1 : 0; i < std::max(argc, 1); ++i) {
    if (argc > 1) omnirt::cpu::set_team_size(std::max(1, std::atoi(argv[i])));
    std::printf("threads %d\n", omnirt::cpu::team_size());
    for (const Shape& shape : shapes) measure(shape);
  }
}
