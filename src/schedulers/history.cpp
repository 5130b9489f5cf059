#include "schedulers/history.hpp"

#include <cmath>

#include "base/error.hpp"

namespace omnirt {

void History::one(const char* name, Tensor& member) {
  if (mode_ == Mode::save) {
    std::vector<Tensor>& saved = tensors[name];
    if (member.defined()) saved.push_back(member);
  } else {
    const std::vector<Tensor>& saved = stored(name);
    member = saved.empty() ? Tensor() : saved.front();
  }
}

void History::operator()(const char* name, std::optional<Tensor>& member) {
  Tensor held = member.value_or(Tensor());
  one(name, held);
  member = held.defined() ? std::optional(held) : std::nullopt;
}

const std::vector<Tensor>& History::stored(const char* name) const {
  auto it = tensors.find(name);
  if (it == tensors.end())
    throw InvalidFile({"", name, "the scheduler's history has no such entry", ""});
  return it->second;
}

double History::number(const char* name) const {
  auto it = numbers.find(name);
  if (it == numbers.end() || !(std::abs(it->second) < 9e15))
    throw InvalidFile({"", name, "the scheduler's history has no such number", ""});
  return it->second;
}

}  // namespace omnirt
