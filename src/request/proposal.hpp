#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "base/storage_type.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/artifact.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/model_spec.hpp"
#include "pipeline/saved_run.hpp"
#include "request/adapter_choice.hpp"
#include "request/request.hpp"

namespace omnirt {

class KnownNetworks;

// A request during validation: what is settled so far, and all that was found wrong. After
// validation without errors it is all that a run needs, and no weight has been read.
struct Proposal : Settled {
  GenerateRequest request;
  const Catalogue* catalogue = nullptr;
  const Family* family = nullptr;
  const ModelSpec* spec = nullptr;
  std::optional<SingleFileReport> single_file;   // of a model that is one file
  DeviceId device;                               // its backend is "" until one is chosen
  std::map<std::string, DeviceId> placed{};      // components that device_map places
  std::vector<PassedOver> backends_passed_over;  // by `auto`, before the one that was chosen
  std::vector<AdapterChoice> adapters;
  std::vector<AdapterReport> adapter_reports;  // once they are matched with the loaded topologies
  std::shared_ptr<const SavedRun> resumed;     // what it continues from; null: from the beginning
  std::set<std::string> absent;  // components known from the state alone, whose files are not here
  // What a run that stops before the end has to leave, with the ports that will read it.
  std::map<std::string, const PortInfo*> across;
  std::string confine;          // the folder that the request's paths must be in; "": anywhere
  Files files = Files::always;  // settles writes_files
  KnownNetworks* networks = nullptr;
  // By component: what their layers' weights are kept in, where that is narrower than stored.
  std::map<std::string, StorageType> storage{};
  std::optional<MemoryPlanReport> memory_plan;  // once it is made (engine/planned_memory.hpp)
  std::string model;  // as a request names it wherever it runs: an id, or an absolute path

  // The view that a block of the plan has of it; `loaded` once its components are there.
  Checks checks_of(const Block& block, const LoadedPipeline* loaded = nullptr) {
    return {*this, block, loaded, [this] { return record(); }};
  }
  // The absolute path that the request's `field` means. Throws InvalidRequest where it is a URL, or
  // is outside the folder that requests are confined to.
  std::string path_of(const std::string& field, const std::string& given) const;
  // Whether `path_of` allows it.
  bool reaches(const std::string& field, const std::string& given) const;
  // The same for a file or folder that the run reads: no link within the folder may lead outside
  // either.
  std::string source_of(const std::string& field, const std::string& given) const;
  // The one of the plan's blocks, which says what latents are; null where it was refused.
  const nn::Autoencoder* autoencoder() const;
  std::optional<StorageType> storage_of(const std::string& component) const {
    auto found = storage.find(component);
    return found == storage.end() ? std::nullopt : std::optional(found->second);
  }
  DeviceId device_of(const std::string& component) const {
    auto found = placed.find(component);
    return found == placed.end() ? device : found->second;
  }
  // Each device that the run computes on, once; its own first.
  std::vector<DeviceId> devices() const;
  // Of the components that are networks and run on `on`.
  std::vector<ComponentFacts> networks_on(const DeviceId& on) const;
  Capabilities capabilities_of(const DeviceId& on) const;
  // Which levels the config allows.
  LevelPolicy levels() const;
  // Whether the config limits memory: a budget, or weights that come and go.
  bool limits_memory() const;
  Json inputs_json() const;
  // The request as settled: values that the run uses, no paths of outputs.
  Json record() const;
  SettledReport settled_report() const;
  CheckReport check_report() const;
};

}  // namespace omnirt
