#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/scheduler.hpp"

namespace omnirt {

// A scheduler's name in lower case with only its letters and digits, and p for +, for comparing.
std::string folded_scheduler_name(std::string_view name);

// What a name as people type it means: a scheduler of this build, and the settings of its config
// that the name implies.
struct NamedScheduler {
  const SchedulerInfo* info = nullptr;
  Json settings = Json::object();
};

// The scheduler that `name` means: a class name or short name of `among`, or a name that
// AUTOMATIC1111's web UI, k-diffusion, ComfyUI and stable-diffusion.cpp use, with or without the
// name of a sigma schedule after it ("DPM++ 2M Karras", "dpmpp_2m_sde_exponential"). The name of a
// sigma schedule alone ("karras") is the model's own scheduler with that. Case, spaces and all but
// letters and digits are ignored; + is p. By the tables of diffusers' documentation (schedulers,
// overview).
// `own` and `own_config`: the model's scheduler and its config; nullptr where this build does not
// have it. For a flow-matching model, the names of Euler, Heun and LCM are those of its forms.
// Throws Unsupported, with the nearest names one per line, for a name that is not known, that
// diffusers has no scheduler for, and for a sigma schedule that the scheduler does not have.
NamedScheduler named_scheduler(std::span<const SchedulerInfo> among, const std::string& name,
                               const SchedulerInfo* own, const Json& own_config);

// One row of the names above, for the reference pages: the names, the class (empty for a sigma
// schedule) and the settings.
struct SchedulerNameRow {
  std::vector<std::string> names;
  std::string class_name;
  Json settings;
};
std::vector<SchedulerNameRow> scheduler_name_rows();
std::vector<SchedulerNameRow> sigma_schedule_rows();

}  // namespace omnirt
