#pragma once
#include <memory>
#include <string>

#include "schedulers/scheduler.hpp"

namespace omnirt {

// The scheduler that a run uses, as validation settled it: the class, and its config with the
// request's over the folder's. Each run makes its own from it.
struct SchedulerChoice {
  const SchedulerInfo* info = nullptr;
  Json config = Json::object();
  std::string where;  // the config file, for errors
  std::unique_ptr<Scheduler> make() const { return info->make(config, where); }
};

}  // namespace omnirt
