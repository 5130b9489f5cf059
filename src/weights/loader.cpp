#include "weights/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/ensure.hpp"
#include "weights/original_weights.hpp"
#include "weights/tensor_shapes.hpp"
#include "weights/widened.hpp"

namespace omnirt {
namespace {

// Collects what does not fit between files and topology, so that all of it is reported at once.
class Matcher {
 public:
  Matcher(const io::TensorFiles& files, const nn::Network& network, std::string component)
      : files_(files), network_(network), component_(std::move(component)) {
    for (const Param* param : network.params()) params_[param->name] = param;
  }

  std::shared_ptr<const WeightStore> match() {
    nn::WeightMap map = network_.weight_map();
    auto store = std::make_shared<WeightStore>();
    for (const std::string& name : files_.names()) {
      std::string wanted = mapped_name(map, name);
      if (!wanted.empty()) take(*store, name, wanted);
    }
    for (const auto& [name, param] : params_) {
      if (!taken_.contains(name))
        find(name, "", "missing from the checkpoint; " + shape_text(param->shape) + " is expected");
    }
    if (!findings_.empty()) throw WeightMismatch(std::move(findings_));
    return store;
  }

 private:
  void find(const std::string& name, std::string value, std::string message) {
    findings_.push_back({component_ + "." + name, std::move(value), std::move(message), ""});
  }

  void take(WeightStore& store, const std::string& name, const std::string& wanted) {
    auto tensor = files_.find(name);
    auto param = params_.find(wanted);
    if (param == params_.end() && is_marker(name)) return;
    if (param == params_.end()) {
      find(name, shape_text(tensor->entry->shape),
           fmt::format("unexpected: a {} of this config has no such parameter",
                       network_.class_name()));
    } else if (!taken_.insert(wanted).second) {
      find(name, "", fmt::format("a second tensor for the parameter {}", wanted));
    } else if (auto widened = widened_weight(*tensor, *param->second, network_.config())) {
      store.add(wanted, std::move(*widened));
    } else if (tensor->entry->shape != param->second->shape) {
      find(name, shape_text(tensor->entry->shape),
           "mis-shaped: " + shape_text(param->second->shape) + " is expected");
    } else {
      store.add(wanted, weight_of(*tensor));
    }
  }

  const io::TensorFiles& files_;
  const nn::Network& network_;
  std::string component_;
  std::map<std::string, const Param*> params_;
  std::set<std::string> taken_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string mapped_name(const nn::WeightMap& map, const std::string& name) {
  if (std::ranges::find(map.ignored, name) != map.ignored.end()) return "";
  std::string mapped = name;
  for (const nn::Rename& rule : map.renames) {
    size_t at = mapped.find(rule.from);
    if (at == std::string::npos || (rule.at_start && at != 0)) continue;
    mapped.replace(at, rule.from.size(), rule.to);
  }
  return mapped;
}

std::shared_ptr<const WeightStore> open_weights(const io::TensorFiles& files,
                                                const nn::Network& network,
                                                const std::string& component) {
  return Matcher(files, network, component).match();
}

std::shared_ptr<const Binding> bind_weights(const WeightStore& store, const nn::Network& network,
                                            ComputeForm form, Binding::Place place) {
  std::vector<std::shared_ptr<const Weight>> weights;
  for (const Param* param : network.params()) {
    auto it = store.all().find(param->name);
    ensure(it != store.all().end(), "no weight for parameter '{}'", param->name);
    weights.push_back(it->second);
  }
  return std::make_shared<const Binding>(std::move(weights), form, std::move(place));
}

}  // namespace omnirt
