#include "pipeline/schedule.hpp"

#include <fmt/format.h>

#include "base/whole_number.hpp"
#include "pipeline/model_spec.hpp"
#include "schedulers/check_history.hpp"

namespace omnirt {
namespace {

constexpr size_t max_levels = 10001;   // a plan's most steps, and where the last ends
constexpr int64_t max_history = 1024;  // tensors; multistep solvers remember up to four

Json plan_json(const StepPlan& plan) {
  return {{"num_inference_steps", plan.num_inference_steps},
          {"eta", plan.eta},
          {"mu", plan.mu ? Json(*plan.mu) : Json()},
          {"even_levels", plan.even_levels},
          {"timesteps", plan.timesteps},
          {"sigmas", plan.sigmas}};
}

std::vector<double> levels_of(const SavedValue& plan, const char* name) {
  const Json list = plan.get<Json>(name);
  bool legal = list.is_array() && list.size() <= max_levels;
  std::vector<double> levels;
  for (const Json& level : legal ? list : Json::array()) {
    legal = legal && level.is_number();
    if (legal) levels.push_back(level.get<double>());
  }
  if (!legal) SavedValue::refuse("the levels of the scheduler's plan");
  return levels;
}

StepPlan plan_of(const SavedValue& saved) {
  SavedValue plan{saved.get<Json>("plan")};
  auto mu = plan.get<Json>("mu");
  return {.num_inference_steps = plan.get<int64_t>("num_inference_steps"),
          .eta = plan.get<double>("eta"),
          .mu = mu.is_number() ? std::optional(mu.get<double>()) : std::nullopt,
          .even_levels = plan.get<bool>("even_levels"),
          .timesteps = levels_of(plan, "timesteps"),
          .sigmas = levels_of(plan, "sigmas")};
}

History history_of(const SavedValue& saved) {
  History history(History::Mode::restore);
  const Json numbers = saved.get<Json>("numbers"), tensors = saved.get<Json>("tensors");
  for (const auto& [name, value] : numbers.items()) {
    if (!value.is_number()) SavedValue::refuse("a number of the scheduler's history");
    history.numbers[name] = value.get<double>();
  }
  for (const auto& [name, value] : tensors.items()) {
    const auto count = whole_number(value, 0, max_history);
    if (!count) SavedValue::refuse("a count of the scheduler's history");
    std::vector<Tensor>& list = history.tensors[name];
    for (int64_t i = 0; i < *count; ++i)
      list.push_back(saved.tensor(fmt::format("{}.{}", name, i)));
  }
  return history;
}

}  // namespace

SavedValue ValueCodec<Schedule>::save(const Schedule& value) {
  const SchedulerOrigin& origin = value.scheduler->origin();
  History history(History::Mode::save);
  value.scheduler->visit_history(history);
  SavedValue saved{{{"class", origin.class_name},
                    {"config", origin.config},
                    {"plan", plan_json(value.scheduler->plan())},
                    {"scheduler_begin", value.scheduler->begin()},
                    {"begin", value.begin},
                    {"end", value.last()},
                    {"numbers", Json::object()},
                    {"tensors", Json::object()}}};
  for (const auto& [name, number] : history.numbers) saved.json["numbers"][name] = number;
  for (const auto& [name, list] : history.tensors) {
    saved.json["tensors"][name] = list.size();
    for (size_t i = 0; i < list.size(); ++i) saved.tensors[fmt::format("{}.{}", name, i)] = list[i];
  }
  return saved;
}

Schedule ValueCodec<Schedule>::load(const SavedValue& saved, const Catalogue& catalogue) {
  const SchedulerInfo* info = catalogue.find_scheduler(saved.get<std::string>("class"));
  if (!info) SavedValue::refuse("its scheduler is not one of this build");
  auto planned = [&] {
    auto scheduler = info->make(saved.get<Json>("config"), "scheduler");
    StepPlan plan = plan_of(saved);
    if (plan.even_levels && !scheduler->takes_even_levels())
      SavedValue::refuse("its scheduler takes no levels from outside");
    scheduler->set_timesteps(plan);
    return scheduler;
  };
  std::shared_ptr<Scheduler> scheduler = planned();
  size_t calls = scheduler->timesteps().size();
  auto first = saved.get<uint64_t>("scheduler_begin"), begin = saved.get<uint64_t>("begin");
  auto end = saved.get<uint64_t>("end");
  if (first > begin || begin >= end || end > calls)
    SavedValue::refuse("the schedule does not begin before its end");
  scheduler->set_begin(first);
  History history = history_of(saved);
  auto fresh = planned();
  fresh->set_begin(first);
  check_history(*fresh, history, begin, end);
  scheduler->visit_history(history);
  return {std::move(scheduler), begin, end};
}

}  // namespace omnirt
