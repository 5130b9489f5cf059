// Weights that stay as their file encodes them: what a binding passes to the ops, and what the ops
// make of it.
#include <gtest/gtest.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/encoded_case.hpp"
#include "ops/support.hpp"
#include "runtime/binding.hpp"

namespace omnirt::testing {
namespace {

struct Listener final : ops::Caller {
  std::string by;
  bool dry() const override { return false; }
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override {
    ADD_FAILURE() << op << ": " << kernel << " failed: " << reason;
  }
  void on_op(const char*, const ops::Shape&) override {}
  void on_computed(const char* name) override { by = name; }
};

const ops::OpTable& kernels() {
  static const ops::OpTable all = [] {
    ops::OpTable made;
    cpu::add_kernels(made);
    return made;
  }();
  return all;
}

// One encoded parameter of a shape, bound as the cpu's kernels have it.
struct EncodedParam {
  EncodedParam(const cpu::EncodedCase& c, std::vector<int64_t> shape,
               ComputeForm form = as_stored())
      : all(c, count_of(shape)), param{"weight", shape, 0} {
    weight = std::make_shared<Weight>();
    weight->name = param.name;
    weight->dtype = c.dtype;
    weight->shape = shape;
    weight->data = all.bytes.data();
    weight->bytes = all.bytes.size();
    weight->encoding = c.encoding;
    std::vector<std::shared_ptr<const Weight>> weights{weight};
    binding = std::make_shared<const Binding>(weights, form);
    numbers = at::from_blob(all.numbers.data(), shape, at::kFloat);
  }
  static ComputeForm as_stored() {
    return {.dtype = at::kFloat, .channels_last = true, .as_stored = true};
  }
  static size_t count_of(const std::vector<int64_t>& shape) {
    size_t count = 1;
    for (int64_t size : shape) count *= static_cast<size_t>(size);
    return count;
  }

  const Tensor& tensor() const { return binding->as_encoded(param); }
  ops::PackSlot* slot() const { return binding->packing(param); }

  cpu::EncodedNumbers all;
  Param param;
  std::shared_ptr<Weight> weight;
  std::shared_ptr<const Binding> binding;
  Tensor numbers;
};

// A few encodings of each kind: blocks, fp8, and what only its own code widens.
std::vector<cpu::EncodedCase> some_cases() {
  std::vector<cpu::EncodedCase> some;
  for (const cpu::EncodedCase& c : cpu::encoded_cases()) {
    for (const char* name : {"Q8_0", "Q4_K", "IQ4_XS", "e4m3", "unknown"})
      if (c.name == name) some.push_back(c);
  }
  return some;
}

// Runs an op on the weight as it is bound and as plain numbers: equal to the bit, by one kernel,
// and nothing was widened for it.
template <class Args, class With>
void expect_read_as_encoded(const ops::Op<Args>& op, const EncodedParam& bound, const With& with) {
  Listener encoded, plain;
  Tensor made = op(encoded, with(bound.tensor(), bound.slot()));
  Tensor expected = op(plain, with(bound.numbers, nullptr));
  EXPECT_TRUE(made.equal(expected)) << encoded.by;
  EXPECT_NE(encoded.by, "reference");
  EXPECT_EQ(bound.binding->converted_bytes(), 0u);
}

TEST(EncodedWeights, AreReadByLinearLayers) {
  for (const auto& c : some_cases()) {
    SCOPED_TRACE(c.name);
    EncodedParam bound(c, {64, 320});
    Tensor x = numbers({2, 30, 320}), bias = numbers({64}, 3);
    expect_read_as_encoded(kernels().linear, bound, [&](const Tensor& weight, ops::PackSlot* slot) {
      return ops::Linear{x, weight, &bias, ops::Activation::silu, nullptr, slot};
    });
    expect_read_as_encoded(kernels().gated_linear, bound,
                           [&](const Tensor& weight, ops::PackSlot* slot) {
                             return ops::GatedLinear{x, weight, &bias, slot};
                           });
  }
}

TEST(EncodedWeights, AreReadByConvolutions) {
  for (const auto& c : some_cases()) {
    SCOPED_TRACE(c.name);
    EncodedParam bound(c, {64, 32, 3, 3});
    Tensor x = channels_last(numbers({2, 32, 16, 16}));
    for (int64_t stride : {1, 2}) {
      expect_read_as_encoded(
          kernels().conv2d, bound, [&](const Tensor& weight, ops::PackSlot* slot) {
            return ops::Conv2d{
                .x = x, .weight = weight, .stride = stride, .padding = {1, 1, 1, 1}, .pack = slot};
          });
    }
  }
}

TEST(EncodedWeights, AreReadByTheRowsOfATableThatAreAskedFor) {
  for (const auto& c : some_cases()) {
    SCOPED_TRACE(c.name);
    EncodedParam bound(c, {64, 100});
    Tensor rows = at::tensor({63, 0, 7, 7}, at::kLong).view({2, 2});
    Listener caller;
    Tensor made = kernels().embedding(caller, {rows, bound.tensor(), at::kFloat, bound.slot()});
    EXPECT_TRUE(made.equal(at::embedding(bound.numbers, rows)));
    EXPECT_EQ(caller.by, "cpu table");
    EXPECT_EQ(bound.binding->converted_bytes(), 0u);
  }
}

TEST(EncodedWeights, OfATableNoRowBeyondItIsRead) {
  EncodedParam bound(some_cases().front(), {64, 100});
  ops::PackSlot* slot = bound.slot();
  Tensor rows = at::tensor({64}, at::kLong);
  struct Failing final : ops::Caller {
    bool dry() const override { return false; }
    void kernel_failed(const char*, const std::string&, const char*) override {}
    void on_op(const char*, const ops::Shape&) override {}
    void on_computed(const char*) override {}
  } caller;
  EXPECT_ANY_THROW(kernels().embedding(caller, {rows, bound.tensor(), at::kFloat, slot}));
}

TEST(EncodedWeights, AreReadInPackedFormsAndRoundedToInt8) {
  for (const auto& c : some_cases()) {
    for (bool int8 : {false, true}) {
      SCOPED_TRACE(c.name + (int8 ? ", int8" : ", packed"));
      ComputeForm form = EncodedParam::as_stored();
      form.pack = int8 ? ops::PackPolicy::never : ops::PackPolicy::always;
      if (int8) form.quantization = ops::Quantization::int8;
      EncodedParam bound(c, {64, 320}, form);
      Tensor x = numbers({2, 30, 320});
      ops::PackBudget budget;
      budget.policy = form.pack;
      budget.quantization = form.quantization;
      ops::PackSlot plain(budget, {});
      Listener caller;
      Tensor made = kernels().linear(
          caller, {x, bound.tensor(), nullptr, ops::Activation::none, nullptr, bound.slot()});
      Tensor expected = kernels().linear(
          caller, {x, bound.numbers, nullptr, ops::Activation::none, nullptr, &plain});
      EXPECT_TRUE(made.equal(expected));
      EXPECT_EQ(bound.binding->converted_bytes(), 0u);
      EXPECT_EQ(bound.binding->packed_bytes(), budget.used_bytes.load());
      EXPECT_GT(bound.binding->packed_bytes(), 0u);
    }
  }
}

// References never see them: what no kernel takes is widened once, kept and counted.
TEST(EncodedWeights, AreWidenedForReferences) {
  for (const auto& c : some_cases()) {
    SCOPED_TRACE(c.name);
    EncodedParam bound(c, {64, 320});
    Tensor x = numbers({2, 30, 320});
    ops::OpTable references;
    for (int i = 0; i < 2; ++i) {
      Listener caller;
      Tensor made = references.linear(
          caller, {x, bound.tensor(), nullptr, ops::Activation::none, nullptr, bound.slot()});
      EXPECT_TRUE(made.equal(ops::Linear::reference({x, bound.numbers})));
      EXPECT_EQ(caller.by, "reference");
      EXPECT_EQ(bound.binding->converted_bytes(), bound.all.numbers.size() * sizeof(float));
    }
  }
}

TEST(EncodedWeights, AreWidenedForWhoReadsThemAsATensorAndForOtherForms) {
  for (const auto& c : some_cases()) {
    SCOPED_TRACE(c.name);
    EncodedParam bound(c, {64, 320}), eager(c, {64, 320}, {.dtype = at::kFloat});
    EXPECT_TRUE((*bound.binding)[bound.param].equal(bound.numbers));
    EXPECT_TRUE(bound.tensor().is_meta());
    EXPECT_TRUE(eager.tensor().equal(eager.numbers));
  }
}

TEST(EncodedWeights, TakeTheMemoryOfTheirFileWhereKernelsReadThem) {
  for (const auto& c : some_cases()) {
    SCOPED_TRACE(c.name);
    EncodedParam bound(c, {64, 320});
    WeightStore store;
    Weight vector{"bias", io::Dtype::f16, {64}, nullptr, 128, nullptr, {}};
    store.add("weight", *bound.weight);
    store.add("bias", vector);
    ComputeForm form = EncodedParam::as_stored();
    EXPECT_EQ(held_bytes(store, form), bound.weight->bytes + 64 * sizeof(float));
    EXPECT_EQ(held_bytes(store, {.dtype = at::kFloat}), (64 * 320 + 64) * sizeof(float));
    EXPECT_EQ(held_bytes(store, {.dtype = at::kBFloat16}), (64 * 320 + 64) * 2);
    form.quantization = ops::Quantization::int8;
    // A scale and a sum for each row.
    EXPECT_EQ(held_bytes(store, form), 64 * 320 + 64 * 8 + 64 * sizeof(float));
  }
}

TEST(EncodedWeights, ThatAnAdapterChangesAreWidened) {
  EncodedParam bound(some_cases().front(), {64, 320});
  auto overlay = std::make_shared<Overlay>();
  overlay->changed.emplace(0, [](const Tensor& stored) { return stored + 1; });
  Binding over(bound.binding, overlay);
  EXPECT_TRUE(over.as_encoded(bound.param).equal(bound.numbers + 1));
  EXPECT_EQ(over.packing(bound.param)->encoded().stored, nullptr);
  EXPECT_TRUE(bound.tensor().is_meta());
}

}  // namespace
}  // namespace omnirt::testing
