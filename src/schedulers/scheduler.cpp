#include "schedulers/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"
#include "schedulers/config_checks.hpp"
#include "schedulers/scheduler_names.hpp"

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
  check_given(plan);
  ensure(!plan.even_levels || takes_even_levels(), "this scheduler takes no even levels");
  plan_ = plan;
  plan_run(plan);
}

std::optional<int64_t> Scheduler::given_steps(const StepPlan& plan) const {
  if (!plan.timesteps.empty()) return static_cast<int64_t>(plan.timesteps.size());
  if (plan.sigmas.empty()) return std::nullopt;
  return static_cast<int64_t>(plan.sigmas.size()) - (takes_levels().with_end ? 1 : 0);
}

void Scheduler::check_given(const StepPlan& plan) const {
  GivenLevels taken = takes_levels();
  check_given_list("timesteps", plan.timesteps, taken.timesteps);
  check_given_list("sigmas", plan.sigmas, taken.sigmas);
  if (!plan.timesteps.empty() && !plan.sigmas.empty()) {
    if (!taken.both)
      refuse_given("sigmas", "this scheduler takes timesteps or sigmas", "give one of them");
    if (plan.timesteps.size() != plan.sigmas.size())
      refuse_given("sigmas", "as many as timesteps were expected", "give lists of one length");
  }
  auto steps = given_steps(plan);
  if (!steps || *steps == plan.num_inference_steps) return;
  refuse_steps(plan.num_inference_steps, fmt::format("the levels given make {} steps", *steps),
               "leave the number of steps out");
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
