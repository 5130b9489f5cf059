#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/component_run.hpp"
#include "runtime/resolve.hpp"

namespace omnirt {

// How test listings name a backend.
void PrintTo(const BackendInfo& info, std::ostream* out);

}  // namespace omnirt

namespace omnirt::testing {

// Names the tests' own plug-in to the ascend backend; before it is first asked for.
void use_fake_ascend();

// The backends that this build holds, and the worked example of docs/adding-a-backend.md.
std::vector<BackendInfo> backends_under_test();
std::string name_of_backend(const ::testing::TestParamInfo<BackendInfo>& info);

// What a backend may know of a run with such a config.
PlanFacts facts_of(const std::string& dtype, const std::string& quantize = "none",
                   const std::string& pack = "auto", const std::string& precision = "high");

// A small network that goes through most ops: two convolutions with a norm between them, and
// attention over what comes out. Weights of its own, the same each time.
class ProbeNetwork {
 public:
  ProbeNetwork();
  // The image {B, 4, H, W} to {B, H * W, 8}.
  Tensor forward(Context& cx, const Tensor& x) const;
  std::shared_ptr<const Binding> bind(const Backend& backend, const ComputeForm& form) const;
  static Tensor input(int64_t batch, int64_t side);

 private:
  Param add(const std::string& name, std::vector<int64_t> shape);
  std::vector<std::shared_ptr<const Weight>> weights_;
  Param conv_in_, conv_in_bias_, norm_, norm_bias_, conv_out_, proj_;
};

// A run of the probe on a backend.
class ProbeRun {
 public:
  explicit ProbeRun(Backend& backend, LevelPolicy policy = {}, PlanFacts facts = {});
  Tensor call(const Tensor& x, const CancelToken* cancel = nullptr);
  ComponentRun& run() { return run_; }
  FallbackCounter& counter() { return counter_; }

 private:
  ProbeNetwork network_;
  FallbackCounter counter_;
  std::vector<std::shared_ptr<const Binding>> bindings_;  // one a form, as a loaded component's
  ComponentRun run_;
};

// What the references compute in fp32 on the CPU.
Tensor expected_of_probe(const Tensor& x);

}  // namespace omnirt::testing
