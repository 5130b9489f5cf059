#include "schedulers/last_bits.hpp"

#include <ATen/Functions.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace omnirt::testing {
namespace {

thread_local std::mt19937 generator;

bool is_inexact(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) {
  static const std::set<std::string> names = {
      "aten::exp", "aten::expm1", "aten::lerp", "aten::linspace", "aten::log", "aten::mean",
      "aten::linalg_solve", "aten::quantile", "aten::randn", "aten::sigmoid", "aten::sqrt",
      "aten::tanh",
      // A network's.
      "aten::conv2d", "aten::linear", "aten::scaled_dot_product_attention", "aten::group_norm",
      "aten::layer_norm", "aten::silu", "aten::silu_", "aten::gelu", "aten::rsqrt"};
  const std::string& name = op.schema().name();
  // A square is a product.
  if (name == "aten::pow")
    return !arguments.back().isScalar() || !arguments.back().toScalar().equal(2);
  return names.contains(name);
}

// At most one ulp. Normal numbers are a radius times a cosine, whose last bit counts where the
// product is near 0, too: those move by an ulp of 1. The exponential of 0 is 1 everywhere.
enum class Kind { plain, normal, exponential };

Kind kind_of(const std::string& name) {
  if (name == "aten::randn") return Kind::normal;
  return name == "aten::exp" ? Kind::exponential : Kind::plain;
}

template <class Real>
Real moved(Real value, Kind kind) {
  int way = std::uniform_int_distribution<int>(-1, 1)(generator);
  if (!std::isfinite(value) || value == 0 || (kind == Kind::exponential && value == 1))
    return value;
  Real size = kind == Kind::normal ? std::max<Real>(std::abs(value), 1) : std::abs(value);
  Real ulp = std::nextafter(size, std::numeric_limits<Real>::infinity()) - size;
  return value + static_cast<Real>(way) * ulp;
}

template <class Real>
void move_all(at::Tensor& tensor, Kind kind) {
  at::Tensor values = tensor.contiguous();
  Real* data = values.mutable_data_ptr<Real>();
  for (int64_t i = 0; i < values.numel(); ++i) data[i] = moved(data[i], kind);
  if (!values.is_same(tensor)) tensor.copy_(values);
}

void call_and_move(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  bool inexact = is_inexact(op, *stack);
  c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::TESTING_ONLY_GenericMode);
  op.callBoxed(stack);
  if (!inexact) return;
  at::Tensor result = stack->back().toTensor();
  Kind kind = kind_of(op.schema().name());
  if (result.scalar_type() == at::kFloat) move_all<float>(result, kind);
  if (result.scalar_type() == at::kDouble) move_all<double>(result, kind);
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&call_and_move>());
}

}  // namespace

LastBits::LastBits(uint32_t seed) : guard_(c10::DispatchKey::TESTING_ONLY_GenericMode) {
  generator.seed(seed);
}

}  // namespace omnirt::testing
