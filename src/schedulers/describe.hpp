#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "schedulers/config_checks.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {

// The catalogue's entry of a scheduler that is made from a Config: a struct with one visit and
// `void check(ConfigChecks&) const`.
template <class S, class Config>
SchedulerInfo describe_scheduler(std::string class_name, std::vector<std::string> short_names,
                                 std::string summary) {
  auto make = [class_name](const Json& json,
                           const std::string& where) -> std::unique_ptr<Scheduler> {
    auto config = read_config<Config>(json, where, false);
    ConfigChecks checks(where);
    config.check(checks);
    checks.finish();
    auto scheduler = std::make_unique<S>(std::move(config));
    scheduler->set_origin({class_name, json});
    return scheduler;
  };
  return {std::move(class_name), std::move(short_names), config_names<Config>(), std::move(summary),
          make};
}

}  // namespace omnirt
