#pragma once
#include <string>
#include <vector>

#include "base/keys.hpp"
#include "request/request.hpp"

namespace omnirt::cli {

// What varies along one side of a grid: a config key, an input (inputs.prompt, or prompt for
// short), a setting of the guider (guider.pag_scale) or the model, and its values.
class Axis {
 public:
  // "steps=5,10,20", or with a JSON list: prompt=["a red apple","a pear"]. Names are config keys,
  // their flags, or the above, with - or _. `flag` names the axis in errors. Throws InvalidRequest:
  // no name, an unknown one, no value, more than most_values.
  static Axis parse(const std::string& flag, const std::string& text,
                    const std::vector<const KeyInfo*>& keys);
  static constexpr size_t most_values = 64;

  size_t size() const { return values_.size(); }
  bool varies(const std::string& config_key) const;
  // Puts the value at this place into the request.
  void apply(GenerateRequest& request, size_t place) const;
  // "num_inference_steps: 5"; of a prompt its text alone.
  std::string label(size_t place) const;

 private:
  enum class Kind { config, input, guider, model };
  Kind kind_ = Kind::config;
  std::string name_;
  std::vector<Json> values_;
};

}  // namespace omnirt::cli
