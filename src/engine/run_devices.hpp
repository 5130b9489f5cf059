#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "base/report.hpp"
#include "engine/runs_in_flight.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// A device that an engine has opened, and the runs that compute on it.
struct EngineDevice {
  std::unique_ptr<Backend> backend;
  RunsInFlight in_flight;
};

// The devices of one run while it computes: their budgets and memory figures.
class RunDevices {
 public:
  // `devices`: the run's own first.
  RunDevices(const Proposal& proposal, const std::vector<EngineDevice*>& devices);
  // Ends the budgets.
  ~RunDevices();
  RunDevices(const RunDevices&) = delete;
  RunDevices& operator=(const RunDevices&) = delete;
  void report_memory(RunReport& report) const;

 private:
  struct Used {
    explicit Used(EngineDevice& device) : backend(*device.backend), turn(device.in_flight) {}
    Backend& backend;
    RunsInFlight::Turn turn;
    double available_gb = backend.available_memory_gb();
  };
  DeviceMemoryReport figures_of(const Used& used) const;
  std::vector<std::unique_ptr<Used>> devices_;
};

}  // namespace omnirt
