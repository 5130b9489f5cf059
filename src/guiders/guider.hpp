#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// One thing that the network is asked under: a name, and which inputs stand in for which.
struct Condition {
  std::string name;  // "cond", "uncond"
  std::map<std::string, std::string>
      renames;  // block input -> request input that takes its place here
};

// Predictions by condition name, each {n, ...}.
using Predictions = std::map<std::string, Tensor>;

// Names the conditions that the network is asked under, and combines what it predicts for each.
class Guider {
 public:
  virtual ~Guider() = default;
  virtual std::string name() const = 0;
  // All conditions that any step may ask for; the first is the plain one.
  virtual std::vector<Condition> conditions() const = 0;
  // The names of those asked for at step `index` of `steps`.
  virtual std::vector<std::string> active(size_t index, size_t steps) const = 0;
  virtual Tensor combine(const Predictions& predictions) const = 0;
};

// A guider as the catalogue lists it.
struct GuiderInfo {
  std::string type;  // as request.guider.type names it
  std::string summary;
  std::vector<std::string> config_keys;
  // Throws InvalidRequest naming guider.<key>.
  std::function<std::unique_ptr<Guider>(const Json& config)> make;
};

const std::vector<GuiderInfo>& all_guiders();
const GuiderInfo* find_guider(const std::string& type);

}  // namespace omnirt
