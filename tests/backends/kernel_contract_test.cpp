// Each kernel of each backend against its op's reference, over the samples next to it; and with
// arguments that do not fit each other, which no kernel may be given.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "backends/contract.hpp"
#include "ops/samples/sampler.hpp"

namespace omnirt::testing {
namespace {

// A table of kernels, and what a run would ask of them.
struct Setting {
  std::string name;
  std::shared_ptr<const ops::OpTable> table;
  at::Device device;
  PlanFacts facts;
  at::ScalarType dtype;  // of its tensors
};

// What a setting's results may differ by, of the largest value of the reference's.
// * fp32: another order of sums, some ulps; a few more where Winograd's transforms come between.
// * fp32 at precision high: each product right to 1e-5 of itself, which sums make no worse.
// * fp32 at precision medium: each number right to 2^-9 of itself, as in bf16.
// * half types: some of their epsilon (2^-11, 2^-8).
double tolerance(const PlanFacts& facts) {
  if (facts.dtype == at::kHalf) return 5e-3;
  if (facts.dtype == at::kBFloat16) return 4e-2;
  // Attention with int8 products is by bf16 as well, where that is faster.
  if (facts.precision == MatmulPrecision::medium || facts.quantization == ops::Quantization::int8)
    return 2e-2;
  return facts.precision == MatmulPrecision::high ? 5e-5 : 1e-5;
}

// Weights and activations of eight bits keep about two digits.
constexpr double int8_tolerance = 0.03;

void expect_near(const Tensor& got, const Tensor& reference, double tolerance) {
  ASSERT_EQ(got.sizes(), reference.sizes());
  ASSERT_EQ(got.scalar_type(), reference.scalar_type());
  if (got.numel() == 0) return;
  Tensor actual = got.to(at::kCPU, at::kDouble), wanted = reference.to(at::kCPU, at::kDouble);
  double largest = std::max(wanted.nan_to_num().abs().max().item<double>(), 1.0);
  EXPECT_TRUE(actual.allclose(wanted, 0, tolerance * largest, /*equal_nan=*/true))
      << "off by " << ((actual - wanted).abs().max().item<double>() / largest) << " of the largest";
}

void expect_rounded(const Tensor& got, const Tensor& reference) {
  ASSERT_EQ(got.sizes(), reference.sizes());
  double off = (got - reference).norm().item<double>();
  EXPECT_LE(off, int8_tolerance * reference.norm().item<double>());
}

// The kernels of one op, as they are run over its samples.
template <class Args>
class KernelCheck {
 public:
  KernelCheck(const Setting& setting, const ops::Op<Args>& op, std::set<std::string>& served)
      : setting_(setting), op_(op), served_(served) {}

  void run() {
    if (op_.kernels().empty()) return;
    for (const ops::Sample<Args>& sample : Args::samples()) {
      for (at::ScalarType weight : stored_types()) {
        SCOPED_TRACE(fmt::format("{}, {}: {}, weights in {}", setting_.name, Args::name,
                                 sample.what, c10::toString(weight)));
        ops::Sampler make({setting_.device, setting_.dtype, weight});
        sample.with(make, [this](const Args& args) { check(args); });
      }
    }
  }

 private:
  static constexpr bool has_weight = requires(Args args) { args.pack; };

  std::vector<at::ScalarType> stored_types() const {
    if (!has_weight || setting_.dtype != at::kFloat) return {setting_.dtype};
    return {at::kFloat, at::kHalf, at::kBFloat16};
  }

  void check(const Args& args) {
    EXPECT_TRUE(Args::fits(args));
    Tensor expected = Args::reference(args);
    EXPECT_EQ(expected.sizes().vec(), Args::shape(args));
    for (const ops::Kernel<Args>& kernel : op_.kernels()) {
      SCOPED_TRACE(kernel.name);
      if (kernel.accepts(args)) {
        note(kernel);
        expect_near(kernel.run(args), expected, tolerance(setting_.facts));
        check_into(kernel, args, expected);
      }
      if constexpr (has_weight) check_packed(kernel, args, expected);
    }
  }

  // Twice with a place for other forms of the weight: as the form is made, and as it is found.
  void check_packed(const ops::Kernel<Args>& kernel, const Args& args, const Tensor& expected) {
    const PlanFacts& facts = setting_.facts;
    ops::PackBudget budget;
    budget.policy = facts.pack;
    budget.quantization = facts.quantization;
    budget.limit_bytes = size_t{1} << 30;
    ops::PackSlot slot(budget, {});
    Args packed = args;
    packed.pack = &slot;
    if (!kernel.accepts(packed)) return;
    note(kernel);
    for (int use = 0; use < 2; ++use) {
      Tensor y = kernel.run(packed);
      if (facts.quantization == ops::Quantization::int8)
        expect_rounded(y, expected);
      else
        expect_near(y, expected, tolerance(facts));
    }
  }

  // With the residual's memory for the result.
  void check_into(const ops::Kernel<Args>& kernel, const Args& args, const Tensor& expected) {
    if constexpr (requires(Args within) { within.into; }) {
      if (!args.residual) return;
      Tensor given = args.residual->clone();
      Args within = args;
      within.residual = &given;
      within.into = &given;
      expect_near(kernel.run(within), expected, tolerance(setting_.facts));
    }
  }

  void note(const ops::Kernel<Args>& kernel) {
    served_.insert(std::string(Args::name) + ": " + kernel.name);
  }

  const Setting& setting_;
  const ops::Op<Args>& op_;
  std::set<std::string>& served_;
};

// Fails the test where a kernel throws.
struct Strict final : ops::Caller {
  bool dry() const override { return false; }
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override {
    ADD_FAILURE() << op << ": " << kernel << " took it and failed: " << reason;
  }
  void on_op(const char*, const ops::Shape&) override {}
  void on_computed(const char*) override {}
};

// Changes the size of one of the tensors that it makes.
class MisSizing final : public ops::Sampler {
 public:
  enum class Change { shorter, longer, without };
  MisSizing(Place place, size_t which, int64_t dimension, Change change)
      : Sampler(place), which_(which), dimension_(dimension), change_(change) {}
  bool changed() const { return changed_; }
  int64_t values() const { return values_; }

 protected:
  Tensor made(Tensor x) override {
    values_ += x.numel();
    if (made_++ != which_ || dimension_ >= x.dim() || x.size(dimension_) == 0) return x;
    changed_ = true;
    if (change_ == Change::without) return x.select(dimension_, 0).contiguous();
    if (change_ == Change::shorter) return x.narrow(dimension_, 0, x.size(dimension_) - 1).clone();
    return at::cat({x, x.narrow(dimension_, 0, 1)}, dimension_);
  }

 private:
  size_t which_, made_ = 0;
  int64_t dimension_;
  Change change_;
  bool changed_ = false;
  int64_t values_ = 0;
};

std::optional<Tensor> result_of(const std::function<Tensor()>& compute) {
  try {
    return compute();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Each tensor of a sample, made a little smaller, larger or of fewer dimensions: what the op
// returns then is what its reference returns, or an error.
template <class Args>
class UnfitCheck {
 public:
  UnfitCheck(const Setting& setting, const ops::Op<Args>& op) : setting_(setting), op_(op) {}

  void run() {
    for (const ops::Sample<Args>& sample : Args::samples()) {
      if (is_large(sample)) continue;
      SCOPED_TRACE(fmt::format("{}, {}: {}", setting_.name, Args::name, sample.what));
      bool again = true;
      for (size_t which = 0; again; ++which) again = change_each_dimension(sample, which);
    }
  }
  size_t refused() const { return refused_; }

 private:
  // Large samples show nothing more.
  bool is_large(const ops::Sample<Args>& sample) const {
    MisSizing make({setting_.device, at::kFloat, at::kFloat}, SIZE_MAX, 0, {});
    sample.with(make, [](const Args&) {});
    return make.values() > 40'000;
  }

  bool change_each_dimension(const ops::Sample<Args>& sample, size_t which) {
    bool any = false;
    for (int64_t dimension = 0; dimension < 4; ++dimension) {
      for (auto change :
           {MisSizing::Change::shorter, MisSizing::Change::longer, MisSizing::Change::without}) {
        MisSizing make({setting_.device, at::kFloat, at::kFloat}, which, dimension, change);
        SCOPED_TRACE(fmt::format("tensor {}, dimension {}, change {}", which, dimension,
                                 static_cast<int>(change)));
        result_of([&] {
          sample.with(make, [this](const Args& args) { compare(args); });
          return Tensor();
        });
        any = any || make.changed();
      }
    }
    return any;
  }

  void compare(const Args& args) {
    Strict caller;
    std::optional<Tensor> got = result_of([&] { return op_(caller, args); });
    refused_ += got ? 0 : 1;
    if (!got) return;
    std::optional<Tensor> expected = result_of([&] { return Args::reference(args); });
    ASSERT_TRUE(expected) << "the reference refuses it";
    expect_near(*got, *expected, tolerance(setting_.facts));
  }

  const Setting& setting_;
  const ops::Op<Args>& op_;
  size_t refused_ = 0;
};

class KernelContract : public ::testing::TestWithParam<BackendInfo> {
 protected:
  void SetUp() override {
    Availability found = availability(GetParam());
    if (!found.available) GTEST_SKIP() << GetParam().name << ": " << found.reason;
    backend_ = GetParam().make(0);
    backend_->prepare({});
  }

  void add(std::vector<Setting>& all, Level level, const std::string& words,
           const PlanFacts& facts) const {
    try {
      LevelPlan plan = backend_->plan(level, "probe", "ProbeNetwork", facts);
      all.push_back({fmt::format("{} {}", to_string(level), words), plan.ops, backend_->device(),
                     facts, plan.form.dtype});
    } catch (const Unsupported&) {
    }
  }

  // All that the backend's modes have at the levels that have kernels.
  std::vector<Setting> settings() const {
    std::vector<Setting> all;
    for (const ComputeMode& mode : backend_->capabilities().modes) {
      for (Level level : mode.levels) {
        if (level == Level::eager) continue;
        for (const std::string& dtype : mode.dtype)
          for (const std::string& quantize : mode.quantize) {
            // As none is, over samples that hold no int8.
            if (quantize == "auto") continue;
            for (const std::string& pack : mode.pack)
              for (const std::string& precision : mode.matmul_precision)
                add(all, level, fmt::format("{} {} {} {}", dtype, quantize, pack, precision),
                    facts_of(dtype, quantize, pack, precision));
          }
      }
    }
    return all;
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(KernelContract, EachKernelGivesWhatItsReferenceGives) {
  std::set<std::string> all, served;
  for (const Setting& setting : settings()) {
    ops::OpTable::visit(*setting.table, [&]<class Args>(const ops::Op<Args>& op) {
      for (const ops::Kernel<Args>& kernel : op.kernels())
        all.insert(std::string(Args::name) + ": " + kernel.name);
      KernelCheck<Args>(setting, op, served).run();
    });
  }
  EXPECT_EQ(served, all) << "a kernel that no sample reaches";
}

TEST_P(KernelContract, NoKernelIsGivenArgumentsThatDoNotFit) {
  std::vector<Setting> each_level;
  for (Level level : {Level::compile, Level::kernel_override, Level::eager})
    add(each_level, level, "fp32", facts_of("fp32"));
  for (const Setting& setting : each_level) {
    ops::OpTable::visit(*setting.table, [&]<class Args>(const ops::Op<Args>& op) {
      UnfitCheck<Args> check(setting, op);
      check.run();
      if constexpr (requires(Args args) { args.weight; }) {
        EXPECT_GT(check.refused(), 0u) << Args::name;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelContract, ::testing::ValuesIn(backends_under_test()),
                         name_of_backend);

}  // namespace
}  // namespace omnirt::testing
