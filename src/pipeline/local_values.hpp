#pragma once
#include <any>
#include <map>
#include <string>

#include "base/ensure.hpp"

namespace omnirt {

// Values that belong to one walk of a loop, before those of the frame while a block of the loop
// runs: members of the loop's state under the names of ports, and what the loop's blocks make. So a
// loop can hold several walks, each with its own latents.
class LocalValues {
 public:
  using Made = std::map<std::string, std::any>;
  // `made`: part of the loop's state, so that values live as long as it does.
  explicit LocalValues(Made& made) : made_(made) {}

  template <class T>
  void bind(const std::string& name, T& value) {
    bound_[name] = &value;
  }
  // Null if there is no value of this name.
  template <class T>
  T* find(const std::string& name) const {
    if (auto bound = bound_.find(name); bound != bound_.end()) {
      T* const* value = std::any_cast<T*>(&bound->second);
      ensure(value != nullptr, "'{}' holds another type than was declared", name);
      return *value;
    }
    auto made = made_.find(name);
    if (made == made_.end()) return nullptr;
    T* value = std::any_cast<T>(&made->second);
    ensure(value != nullptr, "'{}' holds another type than was declared", name);
    return value;
  }
  template <class T>
  T& slot(const std::string& name) const {
    T* known = find<T>(name);
    return known ? *known : made_[name].template emplace<T>();
  }

 private:
  Made& made_;
  std::map<std::string, std::any> bound_;  // T* of each
};

}  // namespace omnirt
