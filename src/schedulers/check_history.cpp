#include "schedulers/check_history.hpp"

#include <ATen/ops/zeros.h>

#include <array>

#include "base/error.hpp"

namespace omnirt {
namespace {

[[noreturn]] void refuse(const char* why) {
  throw InvalidFile({"", "", why, ""});
}

void check_shapes(const History& history) {
  const Tensor* first = nullptr;
  for (const auto& [name, list] : history.tensors) {
    for (const Tensor& tensor : list) {
      if (!first) first = &tensor;
      bool numbers = tensor.defined() && tensor.dim() > 0 && tensor.scalar_type() == at::kFloat;
      if (!numbers || tensor.sizes() != first->sizes())
        refuse("the scheduler's history holds samples of several shapes");
    }
  }
}

bool same_form(Scheduler& scheduler, const History& history) {
  History own(History::Mode::save);
  scheduler.visit_history(own);
  if (own.numbers != history.numbers || own.tensors.size() != history.tensors.size()) return false;
  for (const auto& [name, list] : own.tensors) {
    auto other = history.tensors.find(name);
    if (other == history.tensors.end() || other->second.size() != list.size()) return false;
  }
  return true;
}

}  // namespace

void check_history(Scheduler& fresh, const History& history, size_t begin, size_t end) {
  check_shapes(history);
  // What is remembered, and not its values, is compared: samples of one pixel will do.
  constexpr int64_t channels = 3;
  Tensor sample = at::zeros({1, channels, 1, 1}, at::kFloat);
  Tensor output =
      at::zeros({1, fresh.needs_predicted_variance() ? 2 * channels : channels, 1, 1}, at::kFloat);
  std::array<uint64_t, 1> seeds{0};
  Noise noise(seeds);
  for (size_t call = begin; !same_form(fresh, history); ++call) {
    if (call >= end) refuse("no run of this scheduler leaves the history that it has");
    fresh.step(output, call, sample, noise);
  }
}

}  // namespace omnirt
