#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/network.hpp"

namespace omnirt {

// What is known of a request and its pipeline before any weight loads.
struct Facts {
  std::set<std::string> inputs;  // those that the request has
  // Component name -> the network that its config.json describes, without weights; null where that
  // is none (a tokenizer, a scheduler) or is refused.
  std::map<std::string, std::shared_ptr<const nn::Network>> components{};
  Json index = Json::object();  // model_index.json
  // The config keys that are chosen: the model's, the preset's and the request's, not yet checked.
  Json config = Json::object();
  // Empty where none is known, as in drawings of all workflows.
  std::string task{};

  // The component's network; null where there is none of this type.
  template <class T>
  const T* network(const std::string& component) const {
    auto it = components.find(component);
    return it == components.end() ? nullptr : dynamic_cast<const T*>(it->second.get());
  }
};

// One thing of a request that a trigger looks at.
struct TriggerPart {
  enum class Kind { input, config, component, choice };
  Kind kind;
  std::string name;
  Json value = true;  // of a choice: the value that is asked for
  bool operator==(const TriggerPart&) const = default;

  std::string field() const;        // "inputs.image", "config.window_size", "components.controlnet"
  void add_to(Facts& facts) const;  // as if the request had it
};

// When a block takes part: an expression over inputs, config and components that can also be read.
class Trigger {
 public:
  Trigger() = default;  // always
  Trigger(std::function<bool(const Facts&)> test, std::string text, std::vector<TriggerPart> parts)
      : test_(std::move(test)), text_(std::move(text)), parts_(std::move(parts)) {}

  bool operator()(const Facts& facts) const { return !test_ || test_(facts); }
  const std::string& text() const { return text_; }  // "" : always
  // What the expression looks at, in its order.
  const std::vector<TriggerPart>& parts() const { return parts_; }
  // Of a trigger that does not hold, the parts by any one of which it would.
  std::vector<TriggerPart> missing(const Facts& facts) const;

  friend Trigger operator&&(const Trigger& a, const Trigger& b);
  friend Trigger operator||(const Trigger& a, const Trigger& b);
  friend Trigger operator!(const Trigger& a);

 private:
  std::function<bool(const Facts&)> test_;
  std::string text_;
  std::vector<TriggerPart> parts_;
};

// The request has this input.
Trigger has(const std::string& input);
// Someone sets this config key, to more than false.
Trigger has_config(const std::string& key);
// The request's task, named or inferred, is this one.
Trigger is_task(const std::string& task);
// The pipeline has this component, of its own or given by the request.
Trigger has_component(const std::string& component);
// model_index.json holds this value under this key.
Trigger index_is(const std::string& key, Json value);
// The config key is chosen to be this.
Trigger chosen(const std::string& key, Json value);

}  // namespace omnirt
