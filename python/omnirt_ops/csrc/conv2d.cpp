#include "backends/cpu/simd/conv_direct.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "images.hpp"
#include "ops.hpp"
#include "weights.hpp"

namespace omnirt::torch_ops {
namespace {

constexpr const char* op = "conv2d";

// One call, its tensors in channels-last order.
struct Conv {
  Tensor x, residual, y;
  cpu::WinogradShape shape;
  int64_t kernel_height, kernel_width, stride;
  cpu::ConvWeights weights;
  cpu::ConvEpilogue epilogue;
  std::optional<Norm> norm;
  Tensor terms;  // scale and shift of the norm, while the kernel reads them

  bool is_3x3() const { return kernel_height == 3 && kernel_width == 3 && stride == 1; }

  // The input, normalised as it is read.
  cpu::ConvInput input() {
    cpu::ConvInput input{.data = floats(x), .strides = channels_last_strides(x)};
    if (!norm) return input;
    const int64_t batch = shape.batch, channels = shape.in_channels;
    terms = new_rows({2, batch, channels});
    float* scale = written_floats(terms);
    cpu::group_norm_scale_shift(norm->shape, {input.data, norm->shape.pixels * channels, channels},
                                norm->weight, norm->bias, scale, scale + batch * channels);
    input.scale = scale;
    input.shift = scale + batch * channels;
    input.scale_stride = channels;
    input.activation = norm->activation;
    return input;
  }

  bool reads_norm() const {
    return !norm || norm->activation == cpu::Activation::none ||
           norm->activation == cpu::Activation::silu;
  }
};

void run_split(Conv& conv) {
  cpu::conv_split({.shape = conv.shape,
                   .kernel = conv.kernel_height,
                   .x = conv.input(),
                   .weights = conv.weights,
                   .epilogue = conv.epilogue,
                   .y = written_floats(conv.y),
                   .y_strides = channels_last_strides(conv.y),
                   .stride = conv.stride});
}

void run_direct(Conv& conv) {
  Tensor x = conv.x;
  if (conv.norm) {
    x = new_channels_last(x.size(0), x.size(1), x.size(2), x.size(3));
    conv.norm->run(floats(conv.x), written_floats(x));
  }
  const cpu::WinogradShape& s = conv.shape;
  cpu::conv_direct({.shape = {.batch = s.batch,
                              .in_channels = s.in_channels,
                              .out_channels = s.out_channels,
                              .in_height = s.in_height,
                              .in_width = s.in_width,
                              .up_height = s.up_height,
                              .up_width = s.up_width,
                              .kernel_height = conv.kernel_height,
                              .kernel_width = conv.kernel_width,
                              .stride = conv.stride,
                              .padding = {s.left, s.right, s.top, s.bottom}},
                    .x = floats(x),
                    .x_pixel = s.in_channels,
                    .y = written_floats(conv.y),
                    .y_pixel = s.out_channels,
                    .bias = conv.epilogue.bias,
                    .sample_bias = conv.epilogue.sample_bias,
                    .sample_bias_stride = s.out_channels,
                    .residual = conv.epilogue.residual,
                    .residual_pixel = s.out_channels,
                    .activation = conv.epilogue.activation},
                   conv.weights);
}

void run(Conv& conv, Precision precision) {
  if (precision != Precision::highest && conv.reads_norm() && cpu::split_available() &&
      cpu::worth_splitting_conv(conv.shape, conv.kernel_height, conv.kernel_width, conv.stride))
    return run_split(conv);
  if (!conv.is_3x3() || !conv.reads_norm()) return run_direct(conv);
  const cpu::ConvChoice form = cpu::choose_conv3x3(conv.shape);
  if (form == cpu::ConvChoice::direct) return run_direct(conv);
  cpu::winograd_conv(form, conv.shape, conv.input(), conv.weights, conv.epilogue,
                     written_floats(conv.y), channels_last_strides(conv.y));
}

void check_upsampling(const Sizes& to) {
  if (!to.empty() && to.size() != 2)
    refuse(op, "len(upsample_to)", static_cast<int64_t>(to.size()), "0 or 2 are taken");
  for (const int64_t size : to) check_range(op, "upsample_to", size, 1, most_of_a_size);
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const MaybeTensor& bias, int64_t stride,
              Sizes padding, Sizes upsample_to, int64_t norm_groups, const MaybeTensor& norm_weight,
              const MaybeTensor& norm_bias, double norm_eps, int64_t norm_activation,
              const MaybeTensor& sample_bias, const MaybeTensor& residual, int64_t activation,
              int64_t precision) {
  Argument(op, "x", x).dims(4, 4).fp32();
  const StoredWeight stored(op, weight, 4, 4);
  const int64_t batch = x.size(0), in = x.size(1), out = weight.size(0);
  const int64_t kernel_height = weight.size(2), kernel_width = weight.size(3);
  Argument(op, "weight", weight).shape({out, in, kernel_height, kernel_width});
  check_upsampling(upsample_to);
  const std::pair<int64_t, int64_t> size{upsample_to.empty() ? x.size(2) : upsample_to[0],
                                         upsample_to.empty() ? x.size(3) : upsample_to[1]};
  const auto [height, width] = out_size(op, size, {kernel_height, kernel_width}, stride, padding);
  if (sample_bias)
    Argument(op, "sample_bias", *sample_bias).dims(2, 2).fp32().contiguous().shape({batch, out});
  if (residual)
    Argument(op, "residual", *residual).dims(4, 4).fp32().shape({batch, out, height, width});

  Conv conv{.x = in_channels_last(x),
            .residual = residual ? in_channels_last(*residual) : Tensor(),
            .y = new_channels_last(batch, out, height, width),
            .shape = {.batch = batch,
                      .in_channels = in,
                      .out_channels = out,
                      .in_height = x.size(2),
                      .in_width = x.size(3),
                      .up_height = upsample_to.empty() ? 0 : upsample_to[0],
                      .up_width = upsample_to.empty() ? 0 : upsample_to[1],
                      .left = padding[0],
                      .right = padding[1],
                      .top = padding[2],
                      .bottom = padding[3]},
            .kernel_height = kernel_height,
            .kernel_width = kernel_width,
            .stride = stride,
            .weights = stored.filters(),
            .epilogue = {.bias = row_or_null(op, "bias", bias, out),
                         .sample_bias = floats(sample_bias),
                         .sample_bias_stride = out,
                         .activation = activation_of(op, activation)},
            .norm = {},
            .terms = {}};
  if (residual) {
    conv.epilogue.residual = floats(conv.residual);
    conv.epilogue.residual_strides = channels_last_strides(conv.y);
  }
  if (norm_groups != 0)
    conv.norm = checked_norm(op, x, norm_groups, norm_weight, norm_bias, norm_eps, norm_activation);
  run(conv, precision_of(op, precision));
  return conv.y;
}

}  // namespace omnirt::torch_ops
