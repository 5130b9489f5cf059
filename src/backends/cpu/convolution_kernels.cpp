#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/conv_direct.hpp"
#include "backends/cpu/simd/group_norm.hpp"
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/simd/winograd.hpp"
#include "backends/cpu/tensors.hpp"

namespace omnirt::cpu {
namespace {

// Packed filters pay where a map has so few tiles that transforming them at each call shows, and
// where they stay in the cache: transformed ones are four times the stored, and eight times those
// stored in a narrower type, which makes them dearer to read than to make.
constexpr int64_t most_pixels_worth_packing = 16 * 16;
constexpr size_t most_bytes_worth_packing = size_t{1} << 20;

bool worth_packing(const ops::Conv2d& args, const Tensor& y, size_t bytes) {
  if (!args.pack) return false;
  return args.pack->policy() == ops::PackPolicy::always ||
         (is_fp32(args.weight) && !ops::encoded_weight(args.weight, args.pack) &&
          y.size(2) * y.size(3) <= most_pixels_worth_packing && bytes <= most_bytes_worth_packing);
}

// That the sizes go together, the op has seen.
bool takes(const ops::Conv2d& args) {
  return is_fp32(args.x) && args.x.numel() > 0 && is_stored_weight(args.weight, args.pack) &&
         args.weight.numel() > 0 && is_row_or_absent(args.bias) &&
         is_fp32_or_absent(args.residual) && is_fp32_or_absent(args.sample_bias) &&
         (!args.norm || (is_row_or_absent(args.norm->weight) && is_row_or_absent(args.norm->bias)));
}

GroupNormShape norm_shape(const Tensor& x, const ops::InputNorm& norm) {
  return {x.size(0), x.size(2) * x.size(3), x.size(1), norm.groups, norm.eps};
}

template <class Float>
PixelView<Float> pixels_of(const Tensor& x, Float* data) {
  return {data, x.size(1) * x.size(2) * x.size(3), x.size(1)};
}

// x normalised and activated, for a convolution that cannot do so as it reads.
Tensor normalised(const Tensor& x, const ops::InputNorm& norm) {
  Tensor y = new_channels_last(x.sizes().vec(), x);
  group_norm(norm_shape(x, norm), pixels_of(x, x.const_data_ptr<float>()),
             data_or_null(norm.weight), data_or_null(norm.bias), norm.activation,
             pixels_of(y, y.mutable_data_ptr<float>()));
  return y;
}

// {H W C, W C, C} of a channels-last tensor.
ConvStrides strides_of(const Tensor& x) {
  int64_t pixel = x.size(1), row = x.size(3) * pixel;
  return {x.size(2) * row, row, pixel};
}

WinogradShape shape_of(const ops::Conv2d& args) {
  auto [left, right, top, bottom] = args.padding;
  return {.batch = args.x.size(0),
          .in_channels = args.x.size(1),
          .out_channels = args.weight.size(0),
          .in_height = args.x.size(2),
          .in_width = args.x.size(3),
          .up_height = args.upsample_to[0],
          .up_width = args.upsample_to[1],
          .left = left,
          .right = right,
          .top = top,
          .bottom = bottom};
}

// Where the result goes: into the residual where it may be overwritten and has the result's layout.
Tensor result(const ops::Conv2d& args) {
  ops::Shape shape = ops::Conv2d::shape(args);
  if (args.into && args.into->sizes() == at::IntArrayRef(shape) &&
      args.into->is_contiguous(at::MemoryFormat::ChannelsLast))
    return *args.into;
  return new_channels_last(shape, args.x);
}

// The tensors of one call in channels-last order, held while a kernel works on their memory.
struct Call {
  explicit Call(const ops::Conv2d& args)
      : x(in_channels_last(args.x)),
        residual(args.residual ? in_channels_last(*args.residual) : Tensor()),
        sample_bias(args.sample_bias ? args.sample_bias->contiguous() : Tensor()),
        y(result(args)),
        epilogue{.bias = data_or_null(args.bias),
                 .sample_bias = args.sample_bias ? sample_bias.const_data_ptr<float>() : nullptr,
                 .sample_bias_stride = args.weight.size(0),
                 .residual = args.residual ? residual.const_data_ptr<float>() : nullptr,
                 .residual_strides = strides_of(y),
                 .activation = args.activation} {}

  ConvInput input() const { return {.data = x.const_data_ptr<float>(), .strides = strides_of(x)}; }

  // The input, normalised as it is read: scale and shift of each sample's channels.
  ConvInput normalised_input(const ops::InputNorm& norm) {
    int64_t batch = x.size(0), channels = x.size(1);
    terms = at::empty({2, batch, channels}, x.options());
    float* scale = terms.mutable_data_ptr<float>();
    group_norm_scale_shift(norm_shape(x, norm), pixels_of(x, x.const_data_ptr<float>()),
                           data_or_null(norm.weight), data_or_null(norm.bias), scale,
                           scale + batch * channels);
    ConvInput input = this->input();
    input.scale = scale;
    input.shift = scale + batch * channels;
    input.scale_stride = channels;
    input.activation = norm.activation;
    return input;
  }

  Tensor x, residual, sample_bias, y, terms;
  ConvEpilogue epilogue;
};

// Few input or output channels (the image's own, or the latents') leave little to be won and
// much of the image to be lost.
constexpr int64_t least_channels_to_quantise = 16;

bool is_quantised(const ops::Conv2d& args) {
  return args.pack && args.pack->quantization() == ops::Quantization::int8 &&
         args.weight.size(0) >= least_channels_to_quantise &&
         args.weight.size(1) >= least_channels_to_quantise &&
         args.weight.numel() / args.weight.size(0) <= int8_most_inner;
}

bool accepts_int8(const ops::Conv2d& args) {
  return is_quantised(args) && takes(args);
}

// The rule for 3x3 convolutions of stride 1: choose_conv3x3 or choose_conv3x3_bf16.
using ChooseForm = ConvChoice (*)(const WinogradShape&);

template <ChooseForm choose>
bool accepts_winograd(const ops::Conv2d& args) {
  return takes(args) && args.stride == 1 && args.weight.size(2) == 3 && args.weight.size(3) == 3 &&
         choose(shape_of(args)) != ConvChoice::direct &&
         (!args.norm || args.norm->activation == ops::Activation::none ||
          args.norm->activation == ops::Activation::silu);
}

bool accepts_winograd_bf16(const ops::Conv2d& args) {
  return !is_quantised(args) && accepts_winograd<choose_conv3x3_bf16>(args);
}

template <ChooseForm choose>
Tensor run_winograd(const ops::Conv2d& args) {
  Call call(args);
  WinogradShape shape = shape_of(args);
  ConvChoice form = choose(shape);
  const StoredWeight stored(args.weight, args.pack);
  const ConvWeights weights = stored.filters();
  int64_t in = shape.in_channels, out = shape.out_channels;
  size_t bytes = packed_winograd_bytes(form, in, out);
  const PackedWinograd* packed =
      worth_packing(args, call.y, bytes)
          ? args.pack->find_or_make<PackedWinograd>(
                bytes, [&] { return pack_winograd(form, in, out, weights); })
          : nullptr;
  ConvInput input = args.norm ? call.normalised_input(*args.norm) : call.input();
  float* y = call.y.mutable_data_ptr<float>();
  if (packed && packed->form() == form)
    winograd_conv(shape, input, *packed, call.epilogue, y, strides_of(call.y));
  else
    winograd_conv(form, shape, input, weights, call.epilogue, y, strides_of(call.y));
  return call.y;
}

constexpr int64_t most_pixels_to_pack_split = 256;
constexpr size_t most_bytes_to_pack_split = size_t{5} << 20;

bool accepts_split_conv(const ops::Conv2d& args) {
  return takes(args) && !is_quantised(args) &&
         worth_splitting_conv(shape_of(args), args.weight.size(2), args.weight.size(3),
                              args.stride) &&
         (!args.norm || args.norm->activation == ops::Activation::none ||
          args.norm->activation == ops::Activation::silu);
}

// With numbers rounded to bf16, of any stride and padding.
constexpr int64_t least_pixels_to_round = 12, least_channels_to_round = 24;

bool accepts_rounded_conv(const ops::Conv2d& args) {
  if (accepts_split_conv(args)) return true;
  const ops::Shape y = ops::Conv2d::shape(args);
  return takes(args) && !is_quantised(args) && args.weight.size(2) <= 3 &&
         args.weight.size(3) == args.weight.size(2) &&
         args.weight.size(0) >= least_channels_to_round &&
         args.weight.size(1) >= least_channels_to_round && y[2] * y[3] >= least_pixels_to_round &&
         (!args.norm || args.norm->activation == ops::Activation::none ||
          args.norm->activation == ops::Activation::silu);
}

template <size_t parts>
Tensor run_split_conv(const ops::Conv2d& args) {
  Call call(args);
  const int64_t kernel = args.weight.size(2), taps = kernel * kernel;
  const StoredWeight stored(args.weight, args.pack);
  const WeightView rows = stored.matrix();
  const size_t bytes = packed_split_bytes(rows.rows, rows.columns, taps, false, parts);
  const bool wanted = args.pack && (args.pack->policy() == ops::PackPolicy::always ||
                                    (call.y.size(2) * call.y.size(3) <= most_pixels_to_pack_split &&
                                     bytes <= most_bytes_to_pack_split));
  const auto pack = [&] { return PackedSplit(rows, taps, false, parts); };
  const SplitConv conv{
      .shape = shape_of(args),
      .kernel = kernel,
      .x = args.norm ? call.normalised_input(*args.norm) : call.input(),
      .weights = stored.filters(),
      .packed = wanted ? args.pack->find_or_make<PackedSplit>(bytes, pack) : nullptr,
      .epilogue = call.epilogue,
      .y = call.y.mutable_data_ptr<float>(),
      .y_strides = strides_of(call.y),
      .stride = args.stride};
  parts == 1 ? conv_rounded(conv) : conv_split(conv);
  return call.y;
}

DirectConvArgs direct_args(const ops::Conv2d& args, Call& call) {
  DirectConvShape shape{.batch = args.x.size(0),
                        .in_channels = args.x.size(1),
                        .out_channels = args.weight.size(0),
                        .in_height = args.x.size(2),
                        .in_width = args.x.size(3),
                        .up_height = args.upsample_to[0],
                        .up_width = args.upsample_to[1],
                        .kernel_height = args.weight.size(2),
                        .kernel_width = args.weight.size(3),
                        .stride = args.stride,
                        .padding = args.padding};
  return {.shape = shape,
          .x = call.x.const_data_ptr<float>(),
          .x_pixel = shape.in_channels,
          .y = call.y.mutable_data_ptr<float>(),
          .y_pixel = shape.out_channels,
          .bias = call.epilogue.bias,
          .sample_bias = call.epilogue.sample_bias,
          .sample_bias_stride = shape.out_channels,
          .residual = call.epilogue.residual,
          .residual_pixel = shape.out_channels,
          .activation = call.epilogue.activation};
}

Tensor run_direct(const ops::Conv2d& args) {
  Call call(args);
  if (args.norm) call.x = normalised(call.x, *args.norm);
  DirectConvArgs direct = direct_args(args, call);
  const DirectConvShape& shape = direct.shape;
  const StoredWeight stored(args.weight, args.pack);
  const ConvWeights weights = stored.filters();
  size_t bytes = packed_bytes(shape.out_channels, shape.in_channels * shape.taps());
  const PackedMatrix* packed =
      worth_packing(args, call.y, bytes)
          ? args.pack->find_or_make<PackedMatrix>(bytes, [&] { return pack_conv(shape, weights); })
          : nullptr;
  packed ? conv_direct(direct, *packed) : conv_direct(direct, weights);
  return call.y;
}

// Whether an int8 convolution rotates its channels; the image is then rotated once, ahead of it.
bool is_rotated(const ops::Conv2d& args) {
  return int8_group(args.weight.size(1)) > 1;
}

// x with its channels rotated: in place, where it is a tensor of this call's own.
Tensor rotated(const Tensor& x, bool own) {
  Tensor y = own ? x : new_channels_last(x.sizes().vec(), x);
  int8_rotate(x.const_data_ptr<float>(), x.numel() / x.size(1), x.size(1), int8_group(x.size(1)),
              y.mutable_data_ptr<float>());
  return y;
}

// What normalised() and rotated() take.
size_t bytes_of_prepared(const ops::Conv2d& args) {
  return args.norm || is_rotated(args) ? args.x.nbytes() : 0;
}

// What normalised() takes.
size_t bytes_of_normalised(const ops::Conv2d& args) {
  return args.norm ? args.x.nbytes() : 0;
}

Tensor run_int8(const ops::Conv2d& args) {
  Call call(args);
  if (args.norm) call.x = normalised(call.x, *args.norm);
  if (is_rotated(args)) call.x = rotated(call.x, args.norm != nullptr);
  auto [left, right, top, bottom] = args.padding;
  Int8ConvShape shape{.batch = args.x.size(0),
                      .in_channels = args.x.size(1),
                      .out_channels = args.weight.size(0),
                      .in_height = args.x.size(2),
                      .in_width = args.x.size(3),
                      .up_height = args.upsample_to[0],
                      .up_width = args.upsample_to[1],
                      .kernel_height = args.weight.size(2),
                      .kernel_width = args.weight.size(3),
                      .stride = args.stride,
                      .left = left,
                      .right = right,
                      .top = top,
                      .bottom = bottom};
  const auto& packed = args.pack->replace<PackedInt8>(
      packed_int8_bytes(shape.out_channels, args.weight.numel() / shape.out_channels), [&] {
        const StoredWeight stored(args.weight, args.pack);
        return pack_int8_conv(stored.filters(), shape.out_channels, shape.in_channels,
                              shape.kernel_height, shape.kernel_width, {},
                              int8_group(shape.in_channels));
      });
  int8_conv(shape, call.input(), packed, call.epilogue, call.y.mutable_data_ptr<float>(),
            strides_of(call.y));
  return call.y;
}

}  // namespace

void add_split_convolution_kernels(ops::OpTable& table) {
  table.conv2d.add(kernel("cpu split convolution", accepts_split_conv, run_split_conv<2>));
}

void add_rounded_convolution_kernels(ops::OpTable& table) {
  // Where there is a matrix unit, its direct convolutions leave Winograd's behind.
  if (!split_available())
    table.conv2d.add(
        kernel("cpu bf16 winograd", accepts_winograd_bf16, run_winograd<choose_conv3x3_bf16>));
  table.conv2d.add(kernel("cpu bf16 convolution", accepts_rounded_conv, run_split_conv<1>));
}

void add_convolution_kernels(ops::OpTable& table) {
  table.conv2d.add(
      kernel<ops::Conv2d>("cpu int8 convolution", accepts_int8, run_int8, bytes_of_prepared));
  table.conv2d.add(
      kernel("cpu winograd", accepts_winograd<choose_conv3x3>, run_winograd<choose_conv3x3>));
  table.conv2d.add(
      kernel<ops::Conv2d>("cpu direct convolution", takes, run_direct, bytes_of_normalised));
}

}  // namespace omnirt::cpu
