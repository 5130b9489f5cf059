#include "backends/contract.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/example_backend.hpp"
#include "catalogue/catalogue.hpp"

namespace omnirt {

void PrintTo(const BackendInfo& info, std::ostream* out) {
  *out << info.name;
}

}  // namespace omnirt

namespace omnirt::testing {

void use_fake_ascend() {
  setenv("OMNIRT_ASCEND_PLUGIN", OMNIRT_FAKE_ASCEND, 1);
}

std::vector<BackendInfo> backends_under_test() {
  use_fake_ascend();
  std::vector<BackendInfo> all = builtin_catalogue().backends;
  all.push_back(example_backend_info());
  return all;
}

std::string name_of_backend(const ::testing::TestParamInfo<BackendInfo>& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

PlanFacts facts_of(const std::string& dtype, const std::string& quantize, const std::string& pack,
                   const std::string& precision) {
  return {.dtype = dtype == "fp32"   ? at::kFloat
                   : dtype == "bf16" ? at::kBFloat16
                                     : at::kHalf,
          .pack = pack == "never"    ? ops::PackPolicy::never
                  : pack == "always" ? ops::PackPolicy::always
                                     : ops::PackPolicy::automatic,
          .quantization = choice_of<ops::Quantization>(quantize).value(),
          .precision = precision == "highest" ? MatmulPrecision::highest
                       : precision == "high"  ? MatmulPrecision::high
                                              : MatmulPrecision::medium};
}

ProbeNetwork::ProbeNetwork()
    : conv_in_(add("conv_in.weight", {8, 4, 3, 3})),
      conv_in_bias_(add("conv_in.bias", {8})),
      norm_(add("norm.weight", {8})),
      norm_bias_(add("norm.bias", {8})),
      conv_out_(add("conv_out.weight", {8, 8, 3, 3})),
      proj_(add("proj.weight", {8, 8})) {}

Param ProbeNetwork::add(const std::string& name, std::vector<int64_t> shape) {
  Tensor values = at::randn(shape, at::detail::createCPUGenerator(weights_.size() + 1), at::kFloat);
  // Activations keep their size, so that an error is not made larger.
  if (shape.size() > 1) values /= std::sqrt(static_cast<double>(values[0].numel()));
  auto owner = std::make_shared<Tensor>(values.contiguous());
  weights_.push_back(
      std::make_shared<const Weight>(Weight{name,
                                            io::Dtype::f32,
                                            shape,
                                            static_cast<const std::byte*>(owner->const_data_ptr()),
                                            owner->nbytes(),
                                            owner,
                                            {}}));
  return {name, shape, weights_.size() - 1};
}

Tensor ProbeNetwork::forward(Context& cx, const Tensor& x) const {
  const ops::OpTable& ops = cx.ops();
  Tensor h = cx.segment("conv_in", [&] {
    return ops.conv2d(cx, {.x = x.to(cx.dtype()),
                           .weight = cx[conv_in_],
                           .bias = cx.maybe(conv_in_bias_),
                           .padding = {1, 1, 1, 1}});
  });
  h = cx.segment("middle", [&] {
    Tensor y = ops.group_norm(cx, {.x = h,
                                   .weight = cx.maybe(norm_),
                                   .bias = cx.maybe(norm_bias_),
                                   .groups = 2,
                                   .eps = 1e-5,
                                   .activation = ops::Activation::silu});
    return ops.conv2d(cx,
                      {.x = y, .weight = cx[conv_out_], .padding = {1, 1, 1, 1}, .residual = &h});
  });
  return cx.segment("attention", [&] {
    Tensor tokens = h.permute({0, 2, 3, 1}).reshape({h.size(0), -1, h.size(1)});
    Tensor mixed =
        ops.attention(cx, {.x = tokens, .key = tokens, .value = tokens, .heads = 2, .scale = 0.5});
    return ops.linear(
        cx, {.x = mixed, .weight = cx[proj_], .residual = &tokens, .pack = cx.packing(proj_)});
  });
}

std::shared_ptr<const Binding> ProbeNetwork::bind(const Backend& backend,
                                                  const ComputeForm& form) const {
  return std::make_shared<const Binding>(weights_, form,
                                         [&backend](const Tensor& stored, at::ScalarType dtype) {
                                           return backend.to_device(stored, dtype);
                                         });
}

Tensor ProbeNetwork::input(int64_t batch, int64_t side) {
  return at::randn({batch, 4, side, side}, at::detail::createCPUGenerator(99), at::kFloat);
}

ProbeRun::ProbeRun(Backend& backend, LevelPolicy policy, PlanFacts facts)
    : run_(backend.wrap_module("probe", "ProbeNetwork", facts),
           [this, &backend](const ComputeForm& form, bool /*own*/) {
             for (const auto& binding : bindings_) {
               if (binding->form() == form) return binding;
             }
             return bindings_.emplace_back(network_.bind(backend, form));
           },
           {"probe", policy, &counter_}) {}

Tensor ProbeRun::call(const Tensor& x, const CancelToken* cancel) {
  ComponentCall call{"", [this](Context& cx, const Values& in) {
                       return result(network_.forward(cx, one(in, "x")));
                     }};
  return host(run_.call(call, {{"x", {x}}}, cancel));
}

Tensor expected_of_probe(const Tensor& x) {
  static CpuBackend cpu;
  return ProbeRun(cpu, {.only = Level::eager, .required = {}}).call(x);
}

}  // namespace omnirt::testing
