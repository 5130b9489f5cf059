#include <gmock/gmock.h>

#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

struct Listener final : ops::Caller {
  bool is_dry = false;
  std::vector<std::string> called, failed, computed_by;
  bool dry() const override { return is_dry; }
  void kernel_failed(const char*, const std::string& kernel, const char*) override {
    failed.push_back(kernel);
  }
  void on_op(const char* op, const ops::Shape&) override { called.emplace_back(op); }
  void on_computed(const char* by) override { computed_by.emplace_back(by); }
};

TEST(Op, UsesTheFirstKernelThatAccepts) {
  ops::Op<ops::Affine> op;
  auto constant = [](float value) {
    return [value](const ops::Affine& args) { return at::full_like(args.x, value); };
  };
  op.add({"small", [](const ops::Affine& args) { return args.x.numel() < 4; }, constant(1)});
  op.add({"any", [](const ops::Affine&) { return true; }, constant(2)});
  Listener listener;
  Tensor few = at::zeros({2}), many = at::zeros({8});
  EXPECT_EQ(op(listener, {few, 1, 0})[0].item<float>(), 1);
  EXPECT_EQ(op(listener, {many, 1, 0})[0].item<float>(), 2);
  EXPECT_EQ(listener.called, (std::vector<std::string>{"affine", "affine"}));
}

TEST(Op, FallsBackWhenAKernelThrowsAndSaysSo) {
  ops::Op<ops::Affine> op;
  op.add({"broken", [](const ops::Affine&) { return true; },
          [](const ops::Affine&) -> Tensor { throw std::runtime_error("no"); }});
  Listener listener;
  Tensor x = at::ones({3});
  EXPECT_EQ(op(listener, {x, 2, 1})[0].item<float>(), 3);
  EXPECT_EQ(listener.failed, std::vector<std::string>{"broken"});
  EXPECT_EQ(listener.computed_by, std::vector<std::string>{"reference"});
}

TEST(Op, DoesNotComputeAgainFromWhatAKernelMayHaveWrittenOver) {
  ops::Op<ops::Conv2d> op;
  op.add({"broken", [](const ops::Conv2d&) { return true; },
          [](const ops::Conv2d&) -> Tensor { throw std::runtime_error("no"); }});
  Listener listener;
  Tensor x = at::ones({1, 2, 4, 4}), weight = at::ones({2, 2, 1, 1}),
         residual = at::ones(x.sizes());
  ops::Conv2d args{x, weight};
  args.residual = &residual;
  EXPECT_EQ(op(listener, args).sizes(), x.sizes());
  args.into = &residual;
  EXPECT_THROW(op(listener, args), std::runtime_error);
}

TEST(Op, HasNoStorageWhenDry) {
  ops::OpTable table;
  Listener listener;
  listener.is_dry = true;
  Tensor ids = at::empty({2, 5}, at::TensorOptions().dtype(at::kLong).device(at::kMeta));
  Tensor weight = at::empty({9, 4}, at::TensorOptions().dtype(at::kHalf).device(at::kMeta));
  Tensor y = table.embedding(listener, {ids, weight});
  EXPECT_EQ(y.sizes().vec(), (ops::Shape{2, 5, 4}));
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_TRUE(y.is_meta());
}

}  // namespace
}  // namespace omnirt::testing
