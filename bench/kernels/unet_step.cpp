// The products, convolutions and attentions of a guided step of SD 1.5's UNet at 512x512, each
// timed alone by its best run, summed up by how often a step has it: fp32, and with products of
// bf16 where the processor has these. A machine that others use too disturbs the sum little. Usage:
// unet_step [threads] [repeats] [f32|f16|bf16]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/simd/attention.hpp"
#include "backends/cpu/simd/conv_direct.hpp"
#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "backends/cpu/simd/winograd.hpp"

namespace {

using namespace omnirt::cpu;

int repeats = 3;
WeightType type = WeightType::f32;

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return values;
}

// Weights as a file stores them.
std::vector<uint8_t> stored(int64_t count) {
  const std::vector<float> values = numbers(count);
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  if (type == WeightType::f32) return bytes;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t low = type == WeightType::f16 ? 0x2c00 : 0x3d00;
    const auto bits = static_cast<uint16_t>(low | (values[i] > 0 ? 0x8000 : 0) | (i * 37 % 251));
    std::memcpy(bytes.data() + 2 * i, &bits, sizeof(bits));
  }
  return bytes;
}

// Of the processor's time where one thread works, else of the clock.
double milliseconds() {
  timespec now{};
  clock_gettime(team_size() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double best(const std::function<void()>& run) {
  double least = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = milliseconds();
    run();
    least = std::min(least, milliseconds() - start);
  }
  return least;
}

struct Times {
  double fp32 = 0, bf16 = 0, int8 = 0;
};
std::map<std::string, Times> sums;

void add(const std::string& kind, const std::string& what, int calls, const Times& t) {
  Times& sum = sums[kind];
  sum.fp32 += calls * t.fp32, sum.bf16 += calls * t.bf16, sum.int8 += calls * t.int8;
  fmt::print(
      "{:10} {:30} x {:2}  fp32 {:8.2f} ms  bf16 {:8.2f} ms ({:4.2f})  int8 {:8.2f} ms ({:4.2f})\n",
      kind, what, calls, t.fp32, t.bf16, t.fp32 / t.bf16, t.int8, t.fp32 / t.int8);
}

void linear(int calls, int64_t m, int64_t n, int64_t k, bool geglu = false) {
  const std::vector<float> x = numbers(m * k);
  const std::vector<uint8_t> w = stored((geglu ? 2 : 1) * n * k);
  std::vector<float> y(static_cast<size_t>(m * n));
  GemmArgs args{m, n, k, x.data(), k, y.data(), n, {}};
  args.epilogue.geglu = geglu;
  const WeightView view{w.data(), type, (geglu ? 2 : 1) * n, k, 0};
  const PackedInt8 packed = pack_int8(view, geglu, {}, int8_group(k));
  add(geglu ? "gated" : "linear", fmt::format("{} x {} x {}", m, n, k), calls,
      {best([&] { gemm(args, view); }), best([&] { gemm_rounded(args, view); }),
       best([&] { int8_linear(args, packed); })});
}

void convolution(int calls, int64_t in, int64_t out, int64_t size, int64_t kernel = 3,
                 int64_t stride = 1) {
  const int64_t batch = 2, pixels = batch * size * size, around = kernel / 2;
  const std::vector<float> x = numbers(pixels * in);
  const std::vector<uint8_t> w = stored(in * out * kernel * kernel);
  std::vector<float> y(static_cast<size_t>(pixels * out));
  const WinogradShape shape{batch, in, out, size, size, 0, 0, around, around, around, around};
  const ConvStrides from{size * size * in, size * in, in};
  const int64_t to_size = size / stride;
  const ConvStrides to{to_size * to_size * out, to_size * out, out};
  const ConvInput input{x.data(), from};
  const ConvWeights weights{w.data(), type};
  const DirectConvArgs direct{
      {batch, in, out, size, size, 0, 0, kernel, kernel, stride, {around, around, around, around}},
      x.data(),
      in,
      y.data(),
      out};
  const int64_t group = int8_group(in);
  const PackedInt8 packed = pack_int8_conv(weights, out, in, kernel, kernel, {}, group);
  std::vector<float> turned(x.size());
  const Int8ConvShape int8{batch,  in,     out,    size,   size,   0,      0,
                           kernel, kernel, stride, around, around, around, around};
  const auto fp32 = [&] {
    if (kernel == 3 && stride == 1)
      winograd_conv(choose_conv3x3(shape), shape, input, weights, {}, y.data(), to);
    else
      conv_direct(direct, weights);
  };
  const auto bf16 = [&] {
    const ConvChoice form = kernel == 3 ? choose_conv3x3_bf16(shape) : ConvChoice::direct;
    if (stride != 1 || form == ConvChoice::direct)
      conv_rounded({shape, kernel, input, weights, nullptr, {}, y.data(), to, stride});
    else
      winograd_conv(form, shape, input, weights, {}, y.data(), to);
  };
  const auto rounded = [&] {
    int8_rotate(x.data(), pixels, in, group, turned.data());
    int8_conv(int8, {turned.data(), from}, packed, {}, y.data(), to);
  };
  add("conv", fmt::format("{0}x{0}/{1} {2} -> {3} @ {4}", kernel, stride, in, out, size), calls,
      {best(fp32), best(bf16), best(rounded)});
}

void attention(int calls, int64_t tokens, int64_t keys, int64_t dim) {
  const int64_t batch = 2, heads = 8, width = heads * dim;
  const std::vector<float> q = numbers(batch * tokens * width), k = numbers(batch * keys * width);
  std::vector<float> y(q.size());
  AttentionArgs args{};
  args.q = {q.data(), tokens * width, width, dim};
  args.k = args.v = {k.data(), keys * width, width, dim};
  args.y = {y.data(), tokens * width, width, dim};
  args.batch = batch, args.heads = heads, args.head_dim = dim;
  args.q_tokens = tokens, args.k_tokens = keys, args.scale = 0.125f;
  const double fp32 = best([&] { omnirt::cpu::attention(args); });
  const double bf16 = best([&] { attention_bf16(args); });
  add("attention", fmt::format("{} x {} x {}", tokens, keys, dim), calls, {fp32, bf16, bf16});
}

}  // namespace

int main(int argc, char** argv) {
  set_team_size(argc > 1 ? std::atoi(argv[1]) : 1);
  if (argc > 2) repeats = std::atoi(argv[2]);
  if (argc > 3 && std::string(argv[3]) == "f16") type = WeightType::f16;
  if (argc > 3 && std::string(argv[3]) == "bf16") type = WeightType::bf16;
  const int64_t sizes[] = {64, 32, 16, 8}, widths[] = {320, 640, 1280, 1280};
  for (int i = 0; i < 4; ++i) {
    const int64_t m = 2 * sizes[i] * sizes[i], c = widths[i];
    const int blocks = i < 3 ? 5 : 1;
    linear(8 * blocks, m, c, c);
    linear(blocks, m, c, 4 * c);
    linear(blocks, m, 4 * c, c, true);
    attention(blocks, m / 2, m / 2, c / 8);
    attention(blocks, m / 2, 77, c / 8);
  }
  convolution(7, 320, 320, 64), convolution(2, 640, 320, 64), convolution(1, 960, 320, 64);
  convolution(6, 640, 640, 32), convolution(1, 320, 640, 32), convolution(1, 1920, 640, 32);
  convolution(1, 1280, 640, 32), convolution(1, 960, 640, 32), convolution(7, 1280, 1280, 16);
  convolution(1, 640, 1280, 16), convolution(2, 2560, 1280, 16), convolution(1, 1920, 1280, 16);
  convolution(11, 1280, 1280, 8), convolution(3, 2560, 1280, 8), convolution(1, 1280, 1280, 32);
  convolution(1, 640, 640, 64);
  convolution(1, 960, 320, 64, 1), convolution(2, 640, 320, 64, 1);
  convolution(1, 320, 640, 32, 1), convolution(1, 1920, 640, 32, 1);
  convolution(1, 1280, 640, 32, 1), convolution(1, 960, 640, 32, 1);
  convolution(1, 640, 1280, 16, 1), convolution(2, 2560, 1280, 16, 1);
  convolution(1, 1920, 1280, 16, 1), convolution(3, 2560, 1280, 8, 1);
  convolution(1, 320, 320, 64, 3, 2), convolution(1, 640, 640, 32, 3, 2);
  convolution(1, 1280, 1280, 16, 3, 2);
  Times all;
  for (const auto& [kind, t] : sums) {
    fmt::print("{:10} fp32 {:8.1f} ms  bf16 {:8.1f} ms  int8 {:8.1f} ms\n", kind, t.fp32, t.bf16,
               t.int8);
    all.fp32 += t.fp32, all.bf16 += t.bf16, all.int8 += t.int8;
  }
  fmt::print("all        fp32 {:8.1f} ms  bf16 {:8.1f} ms ({:.2f})  int8 {:8.1f} ms ({:.2f})\n",
             all.fp32, all.bf16, all.fp32 / all.bf16, all.int8, all.fp32 / all.int8);
}
