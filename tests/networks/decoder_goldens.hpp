#pragma once
#include <gtest/gtest.h>

#include <numeric>

#include "networks/support.hpp"

// Language models that encode prompts: the states of all their layers.
namespace omnirt::testing {

template <class Network>
std::vector<Tensor> states_of_all_layers(Context& cx, const LoadedNetwork& loaded,
                                         const Tensors& tensors) {
  const auto& network = loaded.as<Network>();
  std::vector<int64_t> all(static_cast<size_t>(network.num_hidden_layers()) + 1);
  std::iota(all.begin(), all.end(), 0);
  auto mask = tensors.find("in.mask");
  return network.hidden_states(cx, tensors.at("in.input_ids"),
                               mask == tensors.end() ? nullptr : &mask->second, all);
}

template <class Network>
void expect_states(const LoadedNetwork& loaded, const Tensors& tensors, double tolerance) {
  Context cx = loaded.context();
  const std::vector<Tensor> given = states_of_all_layers<Network>(cx, loaded, tensors);
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_LT(difference(given[i], tensors.at("out.hidden_states." + std::to_string(i))), tolerance)
        << "state " << i;
  }
}

// Calls check(loaded, tensors) for each golden file of the cases whose names begin so.
template <class Check>
void each_golden_of_cases(const std::string& prefix, Check check) {
  for (const std::string& name : cases(prefix)) {
    LoadedNetwork loaded = load_case(name);
    for (const std::string& file : files(name, "golden")) {
      SCOPED_TRACE(name + "/" + file);
      check(loaded, golden(name, file));
    }
  }
}

}  // namespace omnirt::testing
