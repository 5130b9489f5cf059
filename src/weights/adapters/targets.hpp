#pragma once
#include <map>
#include <string>
#include <vector>

#include "nn/network.hpp"

namespace omnirt::adapters {

// A layer that an adapter can change: a module with a weight.
struct TargetLayer {
  std::string path;  // "down_blocks.0.attentions.0.proj_in"
  const Param* weight = nullptr;
  const Param* bias = nullptr;  // null where the layer has none
};

// A layer, and how it is stored in what a file names: alone, or with others in one tensor.
struct TargetPart {
  const TargetLayer* layer = nullptr;
  nn::Form form = nn::Form::same;        // same, rows or swapped
  size_t part = 0, parts = 1, span = 1;  // of Form::rows
  std::string original{};                // the original layout whose name this is, "" for none
};

// One component's layers by every name that adapter files use. The network must outlive it.
class Targets {
 public:
  Targets(std::string component, const nn::Network& network, bool denoiser);

  const std::string& component() const { return component_; }
  bool is_denoiser() const { return denoiser_; }
  const nn::Network& network() const { return network_; }
  // What a name, with dots or with underscores in their place, refers to: one layer, or those that
  // are in one tensor; empty where there is none.
  std::vector<TargetPart> parts(const std::string& name) const;
  // The layer that a name refers to alone; null where there is none.
  const TargetLayer* find(const std::string& name) const;
  // The layers in the order in which files count them, below modules of the classes that a file
  // names; of those that the network declares where it names none.
  std::vector<const TargetLayer*> numbered(const std::vector<std::string>& classes) const;
  // All names of all layers, with dots or underscores; for suggestions.
  std::vector<std::string> names(bool underscores) const;
  // Whether a module or layer has this path.
  bool has_path(const std::string& path) const;
  std::vector<std::string> paths() const;

 private:
  void add_names(const TargetLayer& layer, const std::vector<nn::OriginalLayout>& layouts);
  void add(const std::string& name, const TargetPart& part);

  std::string component_;
  const nn::Network& network_;
  bool denoiser_;
  nn::AdapterNames declared_;
  std::map<std::string, TargetLayer> layers_;               // by path
  std::map<std::string, std::vector<TargetPart>> by_name_;  // with dots
  std::map<std::string, std::vector<TargetPart>> by_underscored_;
};

}  // namespace omnirt::adapters
