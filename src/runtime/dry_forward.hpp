#pragma once
#include <cstddef>
#include <vector>

#include "ops/op_table.hpp"
#include "runtime/component_call.hpp"
#include "runtime/context.hpp"

namespace omnirt {

// What a call will take, found by running it over tensors without storage.
struct DryForward {
  size_t peak_bytes = 0;   // the most that its tensors take at a time, weights apart
  size_t reach_bytes = 0;  // what the arena takes of the system for them (BlockMap::reach)
  size_t kept_bytes = 0;   // of what stays for the run's further calls
  // What its rows keep for further steps (step caches); not among kept_bytes where
  // KeptBefore::features says that as much is there already.
  size_t feature_bytes = 0;
  Values results{};  // without storage
  std::vector<DryUse> uses{};
  // Products that linear layers and convolutions take of their weights; those of attention are not
  // among them.
  double products = 0;
};

// What earlier calls of the run have kept: what is made once per run, and features that steps
// share.
struct KeptBefore {
  bool constants = false;
  bool features = false;
};

// Of `inputs` only sizes, strides and types are used.
DryForward dry_forward(const ops::OpTable& ops, const ComputeForm& form, const ComponentCall& call,
                       const Values& inputs, const KeptBefore& kept);

}  // namespace omnirt
