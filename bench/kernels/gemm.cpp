// GFLOP/s of the matrix product over the shapes of Stable Diffusion's transformers, in fp32 and,
// where the processor has products of these, of numbers rounded to bf16. Usage: bench_gemm
// [threads] [f32|f16|bf16] [m n k]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace {

using omnirt::cpu::GemmArgs;
using omnirt::cpu::WeightType;
using omnirt::cpu::WeightView;

struct Shape {
  int64_t m, n, k;
  bool geglu = false;
};

enum class Way { plain, prepacked, rounded };

double seconds(const std::vector<float>& x, std::vector<float>& y, const WeightView& weight,
               const Shape& shape, Way way) {
  GemmArgs args{shape.m, shape.n, shape.k, x.data(), shape.k, y.data(), shape.n, {}};
  args.epilogue.geglu = shape.geglu;
  const auto packed =
      way == Way::prepacked ? omnirt::cpu::pack(weight, shape.geglu) : omnirt::cpu::PackedMatrix();
  double best = 1e9;
  const double work = 2.0 * static_cast<double>(shape.m * weight.rows * shape.k);
  const int repeats = static_cast<int>(std::clamp(6e10 / work, 5.0, 400.0));
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    if (way == Way::prepacked) {
      gemm(args, packed);
    } else if (way == Way::rounded) {
      gemm_rounded(args, weight);
    } else {
      gemm(args, weight);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

void measure(const Shape& shape, WeightType type) {
  const int64_t rows = shape.geglu ? 2 * shape.n : shape.n;
  std::vector<float> x(static_cast<size_t>(shape.m * shape.k), 0.5f);
  std::vector<float> y(static_cast<size_t>(shape.m * shape.n));
  std::vector<float> w(static_cast<size_t>(rows * shape.k), 0.25f);
  const WeightView weight{w.data(), type, rows, shape.k, 0};
  const double work = 2.0 * static_cast<double>(shape.m * rows * shape.k) / 1e9;
  const double plain = seconds(x, y, weight, shape, Way::plain);
  const double packed = seconds(x, y, weight, shape, Way::prepacked);
  fmt::print("{:6} x {:6} x {:6}{} {:8.3f} ms {:7.1f} GFLOP/s  prepacked {:7.1f}", shape.m, rows,
             shape.k, shape.geglu ? " geglu" : "      ", plain * 1e3, work / plain, work / packed);
  if (omnirt::cpu::rounded_available())
    fmt::print("  rounded to bf16 {:7.1f}", work / seconds(x, y, weight, shape, Way::rounded));
  fmt::print("\n");
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values, values + count);
  omnirt::cpu::set_team_size(count > 1 ? std::atoi(values[1]) : 1);
  WeightType type = WeightType::f32;
  if (count > 2 && arguments[2] == "f16") type = WeightType::f16;
  if (count > 2 && arguments[2] == "bf16") type = WeightType::bf16;
  if (count > 5) {
    measure({std::atoll(values[3]), std::atoll(values[4]), std::atoll(values[5])}, type);
    return 0;
  }
  const Shape shapes[] = {{8192, 320, 320},        {2048, 640, 640},        {512, 1280, 1280},
                          {128, 1280, 1280},       {154, 640, 768},         {154, 3072, 768},
                          {8192, 320, 1280},       {2048, 640, 2560},       {512, 1280, 5120},
                          {8192, 1280, 320, true}, {2048, 2560, 640, true}, {512, 5120, 1280, true},
                          {2, 1280, 320},          {2, 1280, 1280},         {8192, 4, 320}};
  for (const Shape& shape : shapes) measure(shape, type);
}
