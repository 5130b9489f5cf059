#pragma once
#include <functional>
#include <set>

#include "weights/adapters/adapter_file.hpp"
#include "weights/adapters/layer_change.hpp"
#include "weights/adapters/targets.hpp"

namespace omnirt::adapters {

// What an adapter's file means for a model's components.
struct Resolution {
  // The layouts that the file's layers were matched in, joined by "+"; the file's own where none
  // was.
  std::string layout;
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

// The layout of a layer that a network matched: the notation of its keys, or what files are called
// that have an original layout's names in this notation.
std::string layout_of(const FileLayer& layer, const Targets& targets, const TargetPart& match);

}  // namespace omnirt::adapters
