#pragma once
#include <optional>

#include "nn/denoiser_network.hpp"

namespace omnirt::nn {

// Inputs of a struct of their own, of which all are given or none: they are taken out of `from`.
template <class Input>
std::optional<Input> fill_optional_inputs(Context& cx, Values& from) {
  Values taken;
  for (const NetworkInput& each : input_names<Input>())
    if (auto found = from.extract(each.name)) taken.insert(std::move(found));
  if (taken.empty()) return std::nullopt;
  return fill_inputs<Input>(cx, taken);
}

// An input struct that has one of these as a member.
template <class Input, class Optional>
Input fill_inputs_with(Context& cx, Values& from, std::optional<Optional> Input::*member) {
  auto optional = fill_optional_inputs<Optional>(cx, from);
  auto input = fill_inputs<Input>(cx, from);
  input.*member = std::move(optional);
  return input;
}

// `names` with those of such a struct.
template <class Input>
std::vector<NetworkInput> with_optional_inputs(std::vector<NetworkInput> names) {
  for (NetworkInput each : input_names<Input>()) {
    each.required = false;
    names.push_back(std::move(each));
  }
  return names;
}

}  // namespace omnirt::nn
