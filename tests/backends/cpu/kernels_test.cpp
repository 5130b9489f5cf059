// The kernels against the ops' references. What differs is the order of sums: some ulps of the
// largest value, a few more where Winograd's transforms stand between (2e-6 of the largest output).
#include "backends/cpu/kernels.hpp"

#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

using ops::Activation;

// Fails the test where a kernel throws, and tells what computed each op.
struct Witness final : ops::Caller {
  std::vector<std::string> by;
  bool dry() const override { return false; }
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override {
    ADD_FAILURE() << op << ": " << kernel << " failed: " << reason;
  }
  void on_op(const char*, const ops::Shape&) override {}
  void on_computed(const char* name) override { by.emplace_back(name); }
};

const ops::OpTable& table() {
  static const ops::OpTable all = [] {
    ops::OpTable made;
    cpu::add_kernels(made);
    return made;
  }();
  return all;
}

// What the table's kernels make of `args`; a kernel must have made it.
template <class Args>
Tensor by_kernel(const ops::Op<Args>& op, const Args& args) {
  Witness witness;
  Tensor y = op(witness, args);
  EXPECT_NE(witness.by.at(0), "reference") << Args::name;
  EXPECT_EQ(y.sizes().vec(), Args::shape(args)) << Args::name;
  return y;
}

template <class Args>
void expect_as_reference(const ops::Op<Args>& op, const Args& args, double tolerance = 3e-6) {
  expect_close(by_kernel(op, args), Args::reference(args), tolerance);
}

const std::vector<at::ScalarType> stored_types{at::kFloat, at::kHalf, at::kBFloat16};

TEST(CpuKernels, LinearIsTheReference) {
  for (at::ScalarType stored : stored_types) {
    for (auto [rows, in, out] : {std::array<int64_t, 3>{1, 1, 1},
                                 {2, 320, 1280},
                                 {77, 768, 320},
                                 {130, 33, 65},
                                 {300, 64, 48}}) {
      Tensor x = numbers({2, rows, in}),
             weight = (numbers({out, in}, 2) / std::sqrt(in)).to(stored);
      Tensor bias = numbers({out}, 3), residual = numbers({2, rows, out}, 4);
      expect_as_reference(table().linear, {x, weight});
      expect_as_reference(table().linear, {x, weight, &bias, Activation::quick_gelu});
      expect_as_reference(table().linear, {x, weight, &bias, Activation::none, &residual});
    }
  }
}

TEST(CpuKernels, GatedLinearIsTheReference) {
  for (at::ScalarType stored : stored_types) {
    for (auto [rows, in, out] : {std::array<int64_t, 3>{3, 7, 5}, {64, 40, 160}, {257, 64, 33}}) {
      Tensor x = numbers({2, rows, in});
      Tensor weight = (numbers({2 * out, in}, 2) / std::sqrt(in)).to(stored);
      Tensor bias = numbers({2 * out}, 3);
      expect_as_reference(table().gated_linear, {x, weight, &bias});
    }
  }
}

struct ConvCase {
  int64_t batch, in, out, height, width, kernel, stride;
  std::array<int64_t, 4> padding;
  std::array<int64_t, 2> up{0, 0};
};

TEST(CpuKernels, Conv2dIsTheReference) {
  for (const ConvCase& c : {ConvCase{1, 4, 32, 8, 8, 3, 1, {1, 1, 1, 1}},
                            {2, 32, 48, 16, 16, 3, 1, {1, 1, 1, 1}},
                            {2, 33, 17, 9, 13, 3, 1, {1, 1, 1, 1}},
                            {1, 64, 64, 8, 8, 3, 1, {1, 1, 1, 1}, {16, 16}},
                            {1, 64, 40, 9, 7, 3, 1, {1, 1, 1, 1}, {17, 13}},
                            {2, 32, 64, 16, 16, 3, 2, {1, 1, 1, 1}},
                            {1, 32, 32, 15, 16, 3, 2, {0, 1, 0, 1}},
                            {2, 48, 24, 10, 6, 1, 1, {0, 0, 0, 0}},
                            {1, 128, 3, 20, 20, 3, 1, {1, 1, 1, 1}},
                            {1, 3, 16, 12, 12, 5, 1, {2, 2, 2, 2}}}) {
    for (at::ScalarType stored : stored_types) {
      Tensor x = channels_last(numbers({c.batch, c.in, c.height, c.width}));
      double width = std::sqrt(static_cast<double>(c.in * c.kernel * c.kernel));
      Tensor weight = (numbers({c.out, c.in, c.kernel, c.kernel}, 2) / width).to(stored);
      Tensor bias = numbers({c.out}, 3), sample_bias = numbers({c.batch, c.out}, 5);
      ops::Conv2d args{x, weight, &bias, c.stride, c.padding, Activation::none, nullptr, c.up};
      expect_as_reference(table().conv2d, args, 1e-5);
      args.sample_bias = &sample_bias;
      args.activation = Activation::silu;
      expect_as_reference(table().conv2d, args, 1e-5);
      Tensor residual = channels_last(numbers(ops::Conv2d::shape(args), 4));
      args.residual = &residual;
      args.activation = Activation::none;
      expect_as_reference(table().conv2d, args, 1e-5);
      Tensor scale = numbers({c.in}, 6), shift = numbers({c.in}, 7);
      ops::InputNorm norm{&scale, &shift, c.in % 4 == 0 ? 4 : 1, 1e-5, Activation::silu};
      args.norm = &norm;
      expect_as_reference(table().conv2d, args, 1e-5);
    }
  }
}

TEST(CpuKernels, AConvolutionMayTakeTheMemoryOfItsResidual) {
  Tensor x = channels_last(numbers({2, 32, 16, 16})), weight = numbers({32, 32, 3, 3}, 2) / 17;
  Tensor residual = channels_last(numbers({2, 32, 16, 16}, 3));
  for (int64_t stride : {1, 2}) {
    Tensor given = stride == 1 ? residual : channels_last(numbers({2, 32, 8, 8}, 4));
    ops::Conv2d args{x, weight, nullptr, stride, {1, 1, 1, 1}};
    args.residual = &given;
    Tensor apart = by_kernel(table().conv2d, args);
    args.into = &given;
    Tensor within = by_kernel(table().conv2d, args);
    EXPECT_EQ(within.data_ptr(), given.data_ptr());
    EXPECT_TRUE(within.equal(apart));
  }
}

TEST(CpuKernels, ARoundedConvolutionMayTakeTheMemoryOfItsResidual) {
  ops::PackBudget budget;
  budget.quantization = ops::Quantization::int8;
  ops::PackSlot slot(budget, {});
  Tensor x = channels_last(numbers({2, 32, 16, 16})), weight = numbers({32, 32, 3, 3}, 2) / 17;
  Tensor residual = channels_last(numbers({2, 32, 16, 16}, 3));
  ops::Conv2d args{x, weight, nullptr, 1, {1, 1, 1, 1}};
  args.residual = &residual;
  args.pack = &slot;
  Tensor apart = by_kernel(table().conv2d, args);
  args.into = &residual;
  EXPECT_TRUE(by_kernel(table().conv2d, args).equal(apart));
}

TEST(CpuKernels, TakeTensorsOfAnyLayout) {
  Tensor x = numbers({2, 32, 8, 8}), weight = numbers({32, 32, 3, 3}, 2) / 17;
  expect_as_reference(table().conv2d, {x, weight, nullptr, 1, {1, 1, 1, 1}}, 1e-5);
  Tensor rows = numbers({3, 6, 4, 5}).permute({0, 2, 3, 1}), matrix = numbers({2, 6}, 2);
  expect_as_reference(table().linear, {rows, matrix});
  expect_as_reference(table().group_norm, {x, nullptr, nullptr, 8, 1e-5}, 1e-5);
}

TEST(CpuKernels, AttentionIsTheReference) {
  for (auto [heads, dim, queries, keys] : {std::array<int64_t, 4>{8, 40, 64, 64},
                                           {5, 64, 256, 77},
                                           {1, 512, 49, 49},
                                           {12, 64, 77, 77},
                                           {2, 8, 1, 3}}) {
    Tensor q = numbers({2, queries, heads * dim}), k = numbers({2, keys, heads * dim}, 2);
    Tensor v = numbers({2, keys, heads * dim}, 3);
    double scale = 1.0 / std::sqrt(static_cast<double>(dim));
    expect_as_reference(table().attention, {q, k, v, heads, scale}, 1e-5);
    if (queries == keys)
      expect_as_reference(table().attention, {q, k, v, heads, scale, true}, 1e-5);
  }
}

TEST(CpuKernels, NormsAreTheReferences) {
  for (auto [channels, groups] : {std::pair<int64_t, int64_t>{32, 32}, {320, 32}, {12, 4}}) {
    Tensor x = channels_last(3 * numbers({2, channels, 9, 7}) + 2);
    Tensor weight = numbers({channels}, 2), bias = numbers({channels}, 3);
    expect_as_reference(table().group_norm, {x, &weight, &bias, groups, 1e-5}, 1e-5);
    expect_as_reference(table().group_norm, {x, &weight, &bias, groups, 1e-6, Activation::silu},
                        1e-5);
    Tensor rows = numbers({2, 5, channels});
    expect_as_reference(table().layer_norm, {rows, &weight, &bias, 1e-5}, 1e-5);
  }
}

TEST(CpuKernels, MapsAreTheReferences) {
  Tensor x = channels_last(numbers({2, 20, 6, 8})),
         other = channels_last(numbers({2, 20, 6, 8}, 2));
  Tensor wide = channels_last(numbers({2, 12, 6, 8}, 3)), terms = numbers({2, 40, 1, 1}, 4);
  auto halves = terms.chunk(2, 1);
  for (Activation kind : {Activation::silu, Activation::gelu, Activation::gelu_tanh,
                          Activation::quick_gelu, Activation::relu}) {
    expect_as_reference(table().activate, {x, kind});
  }
  expect_as_reference(table().add, {x, other, 0.5});
  expect_as_reference(table().concat, {x, wide});
  expect_as_reference(table().modulate, {x, halves[0], halves[1]});
  expect_as_reference(table().avg_pool2d, {x, 2});
  expect_as_reference(table().upsample_nearest, {x, 13, 16});
  expect_as_reference(table().soft_clamp, {x, 3.0});
  expect_as_reference(table().affine, {x, 2.0, -1.0});
}

TEST(CpuKernels, PackedFormsGiveTheSameBits) {
  ops::PackBudget budget;
  budget.policy = ops::PackPolicy::always;
  ops::PackSlot linear(budget, {}), conv(budget, {}), strided(budget, {});
  Tensor x = numbers({2, 64, 320}), matrix = numbers({48, 320}, 2).to(at::kHalf);
  Tensor picture = channels_last(numbers({2, 32, 16, 16})), filter = numbers({64, 32, 3, 3}, 3);
  auto equal = [](const auto& op, auto args, ops::PackSlot& slot) {
    Tensor plain = by_kernel(op, args);
    args.pack = &slot;
    EXPECT_TRUE(by_kernel(op, args).equal(plain));
    EXPECT_TRUE(by_kernel(op, args).equal(plain));
  };
  equal(table().linear, ops::Linear{x, matrix}, linear);
  equal(table().conv2d, ops::Conv2d{picture, filter, nullptr, 1, {1, 1, 1, 1}}, conv);
  equal(table().conv2d, ops::Conv2d{picture, filter, nullptr, 2, {1, 1, 1, 1}}, strided);
  EXPECT_GT(budget.used_bytes.load(), matrix.numel() * 4 + filter.numel() * 4 * 5);
}

TEST(CpuKernels, PackNothingBeyondTheBudget) {
  ops::PackBudget budget;
  budget.limit_bytes = 1000;
  ops::PackSlot slot(budget, {});
  Tensor x = numbers({2, 8, 320}), matrix = numbers({48, 320}, 2);
  by_kernel(table().linear, {x, matrix, nullptr, Activation::none, nullptr, &slot});
  EXPECT_EQ(budget.used_bytes.load(), 0u);
}

TEST(CpuKernels, ASampleHasItsOwnBitsInABatch) {
  Tensor picture = channels_last(numbers({3, 32, 16, 16})), filter = numbers({64, 32, 3, 3}, 3);
  Tensor rows = numbers({3, 77, 64}), matrix = numbers({48, 64}, 2);
  Tensor convolved = by_kernel(table().conv2d, {picture, filter, nullptr, 1, {1, 1, 1, 1}});
  Tensor product = by_kernel(table().linear, {rows, matrix});
  Tensor attended = by_kernel(table().attention, {rows, rows, rows, 4, 0.25});
  Tensor normed = by_kernel(table().group_norm, {picture, nullptr, nullptr, 8, 1e-5});
  for (int64_t i = 0; i < 3; ++i) {
    Tensor one = channels_last(picture.narrow(0, i, 1)), row = rows.narrow(0, i, 1);
    EXPECT_TRUE(by_kernel(table().conv2d, {one, filter, nullptr, 1, {1, 1, 1, 1}})
                    .equal(convolved.narrow(0, i, 1)));
    EXPECT_TRUE(by_kernel(table().linear, {row, matrix}).equal(product.narrow(0, i, 1)));
    EXPECT_TRUE(
        by_kernel(table().attention, {row, row, row, 4, 0.25}).equal(attended.narrow(0, i, 1)));
    EXPECT_TRUE(by_kernel(table().group_norm, {one, nullptr, nullptr, 8, 1e-5})
                    .equal(normed.narrow(0, i, 1)));
  }
}

// Eight-bit weights and activations keep about two digits.
TEST(CpuKernels, Int8IsNearTheReference) {
  ops::PackBudget budget;
  budget.quantization = ops::Quantization::int8;
  ops::PackSlot linear(budget, {}), gated(budget, {}), conv(budget, {});
  Tensor x = numbers({2, 64, 320}), matrix = numbers({48, 320}, 2) / 18;
  Tensor halves = numbers({64, 320}, 4) / 18;
  Tensor picture = channels_last(numbers({2, 32, 16, 16})),
         filter = numbers({64, 32, 3, 3}, 3) / 17;
  auto near = [](const auto& op, auto args, ops::PackSlot& slot) {
    Tensor exact = std::decay_t<decltype(args)>::reference(args);
    args.pack = &slot;
    Tensor off = by_kernel(op, args) - exact;
    EXPECT_LT((off.norm() / exact.norm()).template item<double>(), 0.03);
    EXPECT_GT(off.abs().max().template item<double>(), 0);
  };
  near(table().linear, ops::Linear{x, matrix}, linear);
  near(table().gated_linear, ops::GatedLinear{x, halves}, gated);
  near(table().conv2d, ops::Conv2d{picture, filter, nullptr, 1, {1, 1, 1, 1}}, conv);
}

}  // namespace
}  // namespace omnirt::testing
