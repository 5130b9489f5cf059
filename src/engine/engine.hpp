#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/component_cache.hpp"
#include "engine/executor.hpp"
#include "engine/run_devices.hpp"
#include "pipeline/component_networks.hpp"
#include "request/validate.hpp"

namespace omnirt {

// Validates, loads, runs and reports; keeps what it loaded for the next request, within bounds
// (ComponentCache). Components are shared by all that they depend on (ComponentKey), so a change of
// steps, size, seed or scheduler loads nothing. Safe to use from several threads.
class Engine {
 public:
  explicit Engine(Catalogue catalogue);
  ~Engine();
  const Catalogue& catalogue() const { return catalogue_; }

  // Validation, with the checkpoint's headers checked against the networks too; no weight is read.
  // Never throws for what the request holds.
  // `keep`: receives what a later run of the same request may use (ValidateOptions::validated).
  Proposal check(const GenerateRequest& request, const ValidateOptions& options = {},
                 std::shared_ptr<const ValidatedRequest>* keep = nullptr);

  // Runs a request to its artifacts. Throws InvalidRequest with all findings, Cancelled, RunFailed,
  // OutOfMemory; `report` is filled as far as the run came, its error included.
  void run(const GenerateRequest& request, const ValidateOptions& options, const RunHooks& hooks,
           RunReport& report);

  // How often, in all runs so far, a level or kernel was not what computed.
  std::vector<FallbackCount> fallbacks() const { return fallbacks_.all(); }
  // How many components are in memory, in use or kept for later requests.
  size_t components_kept() const { return components_.size(); }

 private:
  Proposal settle(const GenerateRequest& request, const ValidateOptions& options,
                  std::shared_ptr<LoadedPipeline>& into);
  void load_validated(Proposal& proposal, std::shared_ptr<LoadedPipeline>& into);
  std::map<std::string, Residency> plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                               const CancelToken* cancel = nullptr);
  void run_whole(const GenerateRequest& request, const ValidateOptions& options,
                 const RunHooks& hooks, RunReport& report);
  void run_checked(const GenerateRequest& request, const ValidateOptions& options,
                   const RunHooks& hooks, RunReport& report);
  EngineDevice& device(const DeviceId& id);
  std::vector<EngineDevice*> devices_of(const Proposal& proposal);
  std::shared_ptr<LoadedPipeline> load(const Proposal& proposal);
  std::shared_ptr<LoadedComponent> load_component(const Proposal& proposal,
                                                  const ComponentFolder& folder);

  Catalogue catalogue_;
  std::mutex mutex_;
  FallbackCounter fallbacks_;
  std::map<DeviceId, EngineDevice> devices_;
  ComponentCache components_;
  KnownNetworks networks_;
};

}  // namespace omnirt
