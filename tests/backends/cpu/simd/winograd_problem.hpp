#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/simd/winograd.hpp"

// Convolutions with awkward strides and addresses, and their values in double precision.
namespace omnirt::cpu {

// The sums of F(4x4,3x3)'s transforms magnify rounding errors about tenfold: some 2e-6 of the
// largest output; 5e-6 leaves room for few outputs, whose largest is not much above the others.
// F(2x2,3x3) only adds, and halves: 2e-6. Numbers rounded to bf16 are 65536 times as rough as
// fp32's; of the largest of few outputs the worst is a few hundredths.
inline double tolerance(ConvChoice form) {
  switch (form) {
    case ConvChoice::winograd4:
      return 5e-6;
    case ConvChoice::winograd4_bf16:
      return 6e-2;
    case ConvChoice::winograd2_bf16:
      return 2e-2;
    default:
      return 2e-6;
  }
}

// A tensor [B][H][W][C] with gaps between pixels, rows and samples, one float off any alignment.
struct Image {
  ConvStrides strides;
  std::vector<float> memory;
  float* data() { return memory.data() + 1; }
  const float* data() const { return memory.data() + 1; }
  float& at(int64_t b, int64_t h, int64_t w, int64_t c) {
    return data()[b * strides.batch + h * strides.row + w * strides.pixel + c];
  }
};

inline Image make_image(int64_t batch, int64_t height, int64_t width, int64_t channels,
                        unsigned seed) {
  Image image;
  image.strides.pixel = channels + 3;
  image.strides.row = width * image.strides.pixel + 5;
  image.strides.batch = height * image.strides.row + 7;
  image.memory.resize(static_cast<size_t>(batch * image.strides.batch + 1));
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : image.memory) value = uniform(engine);
  return image;
}

// The bytes of a checkpoint: one byte (two-byte types: three) off any alignment.
struct Weights {
  WeightType type;
  std::vector<float> values;  // as stored, widened
  std::vector<uint8_t> bytes;
  ConvWeights view() const { return {bytes.data() + 1, type}; }
};

// The nearest numbers of a type come from clearing low bits: exact in f16 for |x| in [2^-4, 2).
inline Weights make_weights(const WinogradShape& shape, WeightType type) {
  Weights weights{type, {}, {}};
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(0.1f, 1);
  const size_t size = type == WeightType::f32 ? 4 : 2;
  const size_t count = static_cast<size_t>(shape.in_channels * shape.out_channels * 9);
  weights.bytes.resize(count * size + 1);
  for (size_t i = 0; i < count; ++i) {
    float value = uniform(engine) * (engine() % 2 ? 1.0f : -1.0f);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (type != WeightType::f32) bits &= type == WeightType::bf16 ? 0xffff0000u : 0xffffe000u;
    std::memcpy(&value, &bits, 4);
    weights.values.push_back(value);
    uint16_t half = static_cast<uint16_t>(bits >> 16);
    if (type == WeightType::f16)
      half = static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10)));
    std::memcpy(weights.bytes.data() + 1 + i * size,
                size == 4 ? static_cast<void*>(&bits) : static_cast<void*>(&half), size);
  }
  return weights;
}

inline double activated(Activation kind, double x) {
  const double tanh_inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(tanh_inner));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::leaky_relu:
      return x < 0 ? 0.2 * x : x;
  }
  return x;
}

struct Problem {
  WinogradShape shape;
  Image x, residual, y;
  std::vector<float> bias, sample_bias;
  Weights weights;
  ConvEpilogue epilogue;
  std::vector<float> scale, shift;  // of the input; empty: none
  Activation reading = Activation::none;

  explicit Problem(const WinogradShape& s, WeightType type = WeightType::f32, bool rich = false)
      : shape(s),
        x(make_image(s.batch, s.in_height, s.in_width, s.in_channels, 1)),
        residual(make_image(s.batch, s.out_height(), s.out_width(), s.out_channels, 2)),
        y(make_image(s.batch, s.out_height(), s.out_width(), s.out_channels, 3)),
        weights(make_weights(s, type)) {
    if (!rich) return;
    for (int64_t o = 0; o < s.out_channels; ++o) bias.push_back(0.1f * static_cast<float>(o % 7));
    for (int64_t i = 0; i < s.batch * (s.out_channels + 2); ++i)
      sample_bias.push_back(0.2f * static_cast<float>(i % 5));
    use_epilogue();
  }
  void use_epilogue() {
    epilogue.bias = bias.data();
    epilogue.sample_bias = sample_bias.data();
    epilogue.sample_bias_stride = shape.out_channels + 2;
    epilogue.residual = residual.data();
    epilogue.residual_strides = residual.strides;
  }
  int64_t scale_stride() const { return shape.in_channels + 3; }
  // Each sample and channel gets its own; past the last channel, values that would show.
  void normalise(Activation activation) {
    reading = activation;
    const size_t count = static_cast<size_t>(shape.batch * scale_stride());
    for (size_t i = 0; i < count; ++i) {
      scale.push_back(static_cast<int64_t>(i) % scale_stride() < shape.in_channels
                          ? 0.5f + 0.125f * static_cast<float>(i % 29)
                          : 1e30f);
      shift.push_back(1.5f - 0.25f * static_cast<float>(i % 11));
    }
  }
  ConvInput input() const {
    ConvInput in{.data = x.data(), .strides = x.strides, .activation = reading};
    if (scale.empty()) return in;
    in.scale = scale.data();
    in.shift = shift.data();
    in.scale_stride = scale_stride();
    return in;
  }
  void run(ConvChoice form) {
    winograd_conv(form, shape, input(), weights.view(), epilogue, y.data(), y.strides);
  }
  void run_packed(ConvChoice form) {
    const PackedWinograd packed =
        pack_winograd(form, shape.in_channels, shape.out_channels, weights.view());
    EXPECT_EQ(packed.bytes(), packed_winograd_bytes(form, shape.in_channels, shape.out_channels));
    winograd_conv(shape, input(), packed, epilogue, y.data(), y.strides);
  }

  double input_at(int64_t b, int64_t h, int64_t w, int64_t c) {
    const double value = x.at(b, h, w, c);
    if (scale.empty()) return value;
    const size_t i = static_cast<size_t>(b * scale_stride() + c);
    return activated(reading, value * scale[i] + shift[i]);
  }
  double sum_at(int64_t b, int64_t h, int64_t w, int64_t o) {
    double sum = 0;
    for (int64_t ky = 0; ky < 3; ++ky)
      for (int64_t kx = 0; kx < 3; ++kx) {
        const int64_t r = h + ky - shape.top, c = w + kx - shape.left;
        if (r < 0 || c < 0 || r >= shape.conv_height() || c >= shape.conv_width()) continue;
        const int64_t sr = r * shape.in_height / shape.conv_height();
        const int64_t sc = c * shape.in_width / shape.conv_width();
        for (int64_t i = 0; i < shape.in_channels; ++i)
          sum +=
              input_at(b, sr, sc, i) *
              weights.values[static_cast<size_t>(((o * shape.in_channels + i) * 3 + ky) * 3 + kx)];
      }
    return sum;
  }
  double expected(int64_t b, int64_t h, int64_t w, int64_t o) {
    double sum = sum_at(b, h, w, o);
    if (epilogue.bias) sum += bias[static_cast<size_t>(o)];
    if (epilogue.sample_bias)
      sum += sample_bias[static_cast<size_t>(b * epilogue.sample_bias_stride + o)];
    if (epilogue.residual) sum += residual.at(b, h, w, o);
    return activated(epilogue.activation, sum);
  }

  template <class Body>
  void each_output(const Body& body) {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.out_height(); ++h)
        for (int64_t w = 0; w < shape.out_width(); ++w)
          for (int64_t o = 0; o < shape.out_channels; ++o) body(b, h, w, o);
  }
  // All outputs' expected values, and the largest.
  std::vector<double> reference(double* largest) {
    std::vector<double> values;
    each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
      values.push_back(expected(b, h, w, o));
      *largest = std::max(*largest, std::abs(values.back()));
    });
    return values;
  }
};

}  // namespace omnirt::cpu
