#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/keys.hpp"
#include "base/site_plan.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// One thing that a network is evaluated under.
struct Condition {
  std::string name;  // "cond", "uncond", "perturbed"
  // block input -> request input that takes its place here; conditions of equal renames share what
  // blocks make of their inputs
  std::map<std::string, std::string> renames{};
  std::vector<SiteRule> sites{};  // what the network does differently
  std::string network{};          // the component that predicts it; "": the loop's own
  // The replacement is read just as the prompt itself: nothing that holds for negative prompts.
  bool as_prompt = false;
  // Evaluated under inputs that replace the request's, as one without the prompt is.
  bool negative() const { return !as_prompt && !renames.empty(); }
};

// The first of `all` that takes the same inputs as `condition`, which is one of them.
const Condition& first_of_inputs(const std::vector<Condition>& all, const Condition& condition);

// Predictions by condition name, each {n, ...}.
using Predictions = std::map<std::string, Tensor>;

// What a guider keeps between the calls of one run (momentum), by name.
using GuiderState = std::map<std::string, Tensor>;

// The call of the network that is guided.
struct GuidanceStep {
  size_t index = 0;     // calls made before it in this run
  size_t steps = 1;     // calls of this run
  double timestep = 0;  // as the network receives it
  double sigma = 0;     // noise over signal in the sample
  Tensor sample{};      // {n, ...}, as the scheduler holds it
  GuiderState* state = nullptr;
};

// Names the conditions that the network is evaluated under, and combines what it predicts for each.
// Const and shared; what a run makes lives in the step's state.
class Guider {
 public:
  virtual ~Guider() = default;
  virtual std::string name() const = 0;
  // All conditions that any step may ask for; the first is the plain one.
  virtual std::vector<Condition> conditions() const = 0;
  // The names of those asked for at a step.
  virtual std::vector<std::string> active(const GuidanceStep& step) const = 0;
  // One prediction {n, ...} from those of the conditions that are active at the step.
  virtual Tensor combine(const Predictions& predictions, GuidanceStep& step) const = 0;
};

// A guider as the catalogue lists it.
struct GuiderInfo {
  std::string type;  // as request.guider.type names it
  std::string summary;
  std::vector<const KeyInfo*> keys;  // its settings
  // Throws InvalidRequest naming guider.<key>.
  std::function<std::unique_ptr<Guider>(const Json& config)> make;
  // Components that its conditions ask in addition to the model's own, given by request.components.
  std::vector<std::string> components{};
};

const std::vector<GuiderInfo>& all_guiders();
const GuiderInfo* find_guider(const std::string& type);

}  // namespace omnirt
