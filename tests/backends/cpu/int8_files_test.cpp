// Files of int8 with scales, with and without a rotation (ComfyUI's int8_tensorwise), as linear
// layers take them.
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "io/safetensors_writer.hpp"
#include "io/scaled_encoding.hpp"
#include "io/scaled_quantize.hpp"
#include "io/sharded.hpp"
#include "io/temp_folder.hpp"
#include "ops/support.hpp"
#include "runtime/binding.hpp"

namespace omnirt::testing {
namespace {

struct NamedKernel final : ops::Caller {
  std::string by;
  bool dry() const override { return false; }
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override {
    ADD_FAILURE() << op << ": " << kernel << " failed: " << reason;
  }
  void on_op(const char*, const ops::Shape&) override {}
  void on_computed(const char* name) override { by = name; }
};

enum class Rows { rotated, plain };

// A matrix written to a file, each row with its scale.
class Int8File {
 public:
  Int8File(const Tensor& matrix, Rows rows) {
    std::vector<float> numbers(matrix.const_data_ptr<float>(),
                               matrix.const_data_ptr<float>() + matrix.numel());
    const int64_t columns = matrix.size(1);
    const io::ScaledFormat format = io::ScaledFormat::int8_convrot;
    std::string settings = io::scaled_settings(format, columns);
    if (rows == Rows::plain) {
      settings = R"({"format": "int8_tensorwise"})";
      // Rotated twice is not at all.
      for (size_t at = 0; at < numbers.size(); at += 256)
        io::rotate_group(std::span(numbers).subspan(at, 256));
    }
    const io::ScaledMatrix made = io::quantize_scaled(format, columns, numbers);
    const std::vector<io::TensorView> tensors{
        {"a.weight", made.dtype, matrix.sizes().vec(), made.numbers},
        {"a.weight_scale", io::Dtype::f32, made.scale_shape, std::as_bytes(std::span(made.scales))},
        {"a.comfy_quant",
         io::Dtype::u8,
         {static_cast<int64_t>(settings.size())},
         std::as_bytes(std::span(settings))}};
    io::write_safetensors(temp_ / "int8.safetensors", tensors);
    files_ = io::TensorFiles::open_file(temp_ / "int8.safetensors");
    weight_ = std::make_shared<Weight>(weight_of(*files_.find("a.weight")));
  }

  // y = x w^T by the cpu's kernels, from the file as it is.
  Tensor times(const Tensor& x, ops::Quantization quantization, ops::PackPolicy pack) {
    const Param param{"a.weight", weight_->shape, 0};
    const ComputeForm form{
        .dtype = at::kFloat, .as_stored = true, .pack = pack, .quantization = quantization};
    const Binding binding({weight_}, form);
    ops::OpTable kernels;
    cpu::add_kernels(kernels);
    NamedKernel caller;
    Tensor y = kernels.linear(caller, {x, binding.as_encoded(param), nullptr, ops::Activation::none,
                                       nullptr, binding.packing(param)});
    by = caller.by;
    EXPECT_EQ(binding.converted_bytes(), 0U);
    packed_bytes = binding.packed_bytes();
    return y;
  }
  Tensor numbers() const { return weight_->view(); }
  const std::shared_ptr<const Weight>& weight() const { return weight_; }

  std::string by;
  size_t packed_bytes = 0;

 private:
  TempFolder temp_;
  io::TensorFiles files_;
  std::shared_ptr<const Weight> weight_;
};

double decibels_of(const Tensor& y, const Tensor& exact) {
  return 20 * std::log10(exact.norm().item<double>() / (y - exact).norm().item<double>());
}

using ops::PackPolicy;
using ops::Quantization;

TEST(Int8Files, AreMultipliedAsTheyAreUnlessNoneIsAskedFor) {
  for (const Rows rows : {Rows::rotated, Rows::plain}) {
    Int8File file(numbers({96, 512}), rows);
    const Tensor x = numbers({2, 40, 512}, 3);
    const Tensor exact = ops::Linear::reference({x, file.numbers()});
    const Tensor widened = file.times(x, Quantization::none, PackPolicy::never);
    EXPECT_GT(decibels_of(widened, exact), 100);
    EXPECT_EQ(file.by, "cpu gemm");
    const Tensor y = file.times(x, Quantization::automatic, PackPolicy::never);
    EXPECT_EQ(file.by, "cpu int8 gemm");
    EXPECT_EQ(file.packed_bytes, 0U);
    // The rounding of activations alone: 43 dB for near-normal numbers.
    EXPECT_GT(decibels_of(y, exact), 38);
    EXPECT_LT(decibels_of(y, exact), 60);
    EXPECT_TRUE(file.times(x, Quantization::int8, PackPolicy::never).equal(y));
    EXPECT_TRUE(file.times(x, Quantization::automatic, PackPolicy::always).equal(y));
    EXPECT_GE(file.packed_bytes, 96U * 512U);
  }
}

TEST(Int8Files, TakeTheMemoryOfTheirBytes) {
  Int8File file(numbers({96, 512}), Rows::rotated);
  for (const Quantization quantization :
       {Quantization::automatic, Quantization::none, Quantization::int8}) {
    const ComputeForm form{.dtype = at::kFloat, .as_stored = true, .quantization = quantization};
    EXPECT_EQ(Binding::bytes_in_memory(*file.weight(), form), 96U * 512U);
  }
}

// Two channels of activations and two of weights that are a hundred times the others.
TEST(Int8Files, ARotationIsWorthTenDecibelsWhereChannelsStandOut) {
  Tensor w = numbers({96, 512}), x = numbers({2, 40, 512}, 3);
  for (const int64_t channel : {20, 300}) w.select(1, channel).mul_(100);
  for (const int64_t channel : {7, 500}) x.select(2, channel).mul_(100);
  const Tensor exact = ops::Linear::reference({x, w});
  Int8File rotated(w, Rows::rotated), plain(w, Rows::plain);
  const double with =
      decibels_of(rotated.times(x, Quantization::automatic, PackPolicy::never), exact);
  const double without =
      decibels_of(plain.times(x, Quantization::automatic, PackPolicy::never), exact);
  EXPECT_GT(with, without + 10) << with << " and " << without << " dB";
}

}  // namespace
}  // namespace omnirt::testing
