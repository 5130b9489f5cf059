#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt {

// What a scheduler remembers of earlier calls, by name; so that a run can be continued by another
// process. A scheduler names its members once:
//
//   void visit_history(History& history) override {
//     history("outputs", outputs_);
//     history("calls", calls_);
//   }
//
// and the same function saves and restores them. What follows from the config and the plan is not
// history.
class History {
 public:
  enum class Mode { save, restore };
  explicit History(Mode mode) : mode_(mode) {}

  void operator()(const char* name, Tensor& member) { one(name, member); }
  void operator()(const char* name, std::optional<Tensor>& member);
  void operator()(const char* name, std::vector<Tensor>& member) { list(name, member); }
  void operator()(const char* name, std::deque<Tensor>& member) { list(name, member); }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const char* name, T& member) {
    if (mode_ == Mode::save)
      numbers[name] = static_cast<double>(member);
    else
      member = static_cast<T>(number(name));
  }
  void operator()(const char* name, double& member) {
    if (mode_ == Mode::save)
      numbers[name] = member;
    else
      member = number(name);
  }
  Mode mode() const { return mode_; }

  // As saved, or to restore from. A tensor that is not set has an empty list.
  std::map<std::string, std::vector<Tensor>> tensors;
  std::map<std::string, double> numbers;

 private:
  void one(const char* name, Tensor& member);
  template <class List>
  void list(const char* name, List& member) {
    if (mode_ == Mode::save) {
      tensors[name].assign(member.begin(), member.end());
    } else {
      const std::vector<Tensor>& saved = stored(name);
      member.assign(saved.begin(), saved.end());
    }
  }
  // Throw InvalidFile where a history to restore from has no such entry.
  const std::vector<Tensor>& stored(const char* name) const;
  double number(const char* name) const;

  Mode mode_;
};

}  // namespace omnirt
