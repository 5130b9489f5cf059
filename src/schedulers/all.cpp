#include "schedulers/scheduler.hpp"

namespace omnirt {

// A scheduler is one file that defines a function of its name, and one line here.
#define OMNIRT_SCHEDULERS(entry)                                                                  \
  entry(euler_discrete) entry(euler_ancestral_discrete) entry(ddim) entry(ddpm)                   \
      entry(dpm_solver_multistep) entry(dpm_solver_singlestep) entry(heun_discrete)               \
          entry(lms_discrete) entry(pndm) entry(unipc_multistep) entry(deis_multistep) entry(lcm) \
              entry(kdpm2_discrete) entry(kdpm2_ancestral_discrete)                               \
                  entry(flow_match_euler_discrete) entry(flow_match_heun_discrete)                \
                      entry(flow_match_lcm) entry(tcd) entry(edm_euler)                           \
                          entry(edm_dpm_solver_multistep) entry(sa_solver) entry(scm)

// The one macro of this folder: a function cannot declare the functions that it then calls.
#define OMNIRT_DECLARE(name) SchedulerInfo name();
#define OMNIRT_CALL(name) name(),
OMNIRT_SCHEDULERS(OMNIRT_DECLARE)

const std::vector<SchedulerInfo>& all_schedulers() {
  static const std::vector<SchedulerInfo> all = {OMNIRT_SCHEDULERS(OMNIRT_CALL)};
  return all;
}

std::vector<std::string> schedulers_for(SchedulerFor networks) {
  std::vector<std::string> names;
  for (const SchedulerInfo& info : all_schedulers()) {
    if (info.made_for == networks) names.push_back(info.class_name);
  }
  return names;
}

}  // namespace omnirt
