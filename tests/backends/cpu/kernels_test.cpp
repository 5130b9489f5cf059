// What this backend's kernels do beyond their references, against which they are held in
// kernel_contract_test.cpp.
#include "backends/cpu/kernels.hpp"

#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

using ops::Activation;

// Fails the test where a kernel throws, and records what computed each op.
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
