#pragma once
#include <functional>
#include <set>
#include <string>

#include "base/json.hpp"

namespace omnirt {

// What is known of a request and its pipeline before any weight loads.
struct Facts {
  std::set<std::string> inputs;            // those that the request gives
  std::map<std::string, Json> components;  // component name -> its config.json
};

// When a block takes part: an expression over inputs and component configs that can also be read.
class Trigger {
 public:
  Trigger() = default;  // always
  Trigger(std::function<bool(const Facts&)> test, std::string text, std::set<std::string> inputs)
      : test_(std::move(test)), text_(std::move(text)), inputs_(std::move(inputs)) {}

  bool operator()(const Facts& facts) const { return !test_ || test_(facts); }
  const std::string& text() const { return text_; }  // "" : always
  // The inputs that the expression looks at.
  const std::set<std::string>& inputs() const { return inputs_; }

  friend Trigger operator&&(const Trigger& a, const Trigger& b);
  friend Trigger operator||(const Trigger& a, const Trigger& b);
  friend Trigger operator!(const Trigger& a);

 private:
  std::function<bool(const Facts&)> test_;
  std::string text_;
  std::set<std::string> inputs_;
};

// The request gives this input.
Trigger has(const std::string& input);
// The component's config.json holds this value under this key.
Trigger config_is(const std::string& component, const std::string& key, Json value);

}  // namespace omnirt
