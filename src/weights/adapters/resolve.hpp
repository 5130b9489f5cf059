#pragma once
#include <functional>
#include <set>

#include "weights/adapters/adapter_file.hpp"
#include "weights/adapters/layer_change.hpp"
#include "weights/adapters/targets.hpp"

namespace omnirt::adapters {

// What an adapter's file means for a model's components.
struct Resolution {
  std::vector<LayerChange> changes;
  std::map<std::string, std::set<std::string>> layers;  // by component: the layers changed
  // Layers of the file that no layer of the model answers to, or one of another shape.
  std::vector<Finding> findings;
};

struct ResolveOptions {
  std::string field;      // "adapters[0]": names it in findings
  std::string component;  // that the request says; "": the file's, or any that fits
  // Components that the model has and this run does not load: what goes there is ignored.
  std::set<std::string> not_loaded{};
};

// Matches a file with the layers of the run's components, by names and shapes. Reads headers and
// single numbers (alphas) only.
Resolution resolve(const AdapterFile& file, const std::vector<Targets>& targets,
                   const ResolveOptions& options);

}  // namespace omnirt::adapters
