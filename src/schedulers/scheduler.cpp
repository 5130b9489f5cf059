#include "schedulers/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"
#include "schedulers/config_checks.hpp"

namespace omnirt {

std::string folded_scheduler_name(std::string_view name) {
  std::string folded;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '+') c = 'p';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) folded += c;
  }
  return folded;
}

namespace {

bool same_name(const std::string& a, const std::string& b) {
  return folded_scheduler_name(a) == folded_scheduler_name(b);
}

}  // namespace

void Scheduler::set_timesteps(const StepPlan& plan) {
  constexpr int64_t most = 10000;
  if (plan.num_inference_steps < 1 || plan.num_inference_steps > most) {
    refuse_steps(plan.num_inference_steps, fmt::format("from 1 to {} steps were expected", most));
  }
  if (!std::isfinite(plan.eta) || plan.eta < 0) {
    throw Unsupported(
        Finding{"eta", fmt::format("{}", plan.eta), "a number from 0 up was expected", ""});
  }
  ensure(!plan.even_levels || takes_even_levels(), "this scheduler takes no even levels");
  plan_ = plan;
  plan_run(plan);
}

Tensor Scheduler::scale_model_input(const Tensor& sample, size_t /*index*/) {
  return sample;
}

Tensor Scheduler::draw_like(Noise& noise, const Tensor& like) {
  return noise.randn(like.sizes()).to(like.options());
}

const SchedulerInfo* find_scheduler(const std::string& name) {
  return find_scheduler(all_schedulers(), name);
}

const SchedulerInfo* find_scheduler(std::span<const SchedulerInfo> among, const std::string& name) {
  for (const SchedulerInfo& info : among) {
    auto matches = [&](const std::string& known) { return same_name(known, name); };
    if (matches(info.class_name) || same_name(info.class_name, name + "Scheduler") ||
        std::any_of(info.short_names.begin(), info.short_names.end(), matches)) {
      return &info;
    }
  }
  return nullptr;
}

}  // namespace omnirt
