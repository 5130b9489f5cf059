#pragma once
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace omnirt {

// What a host program has switched on for its thread: autograd, inference mode, autocast,
// functorch's transforms, torch's dispatch modes in Python.
struct HostState {
  c10::impl::LocalDispatchKeySet keys;
  c10::AutogradState autograd;
};

// While it lives, its thread computes as a new thread does, whatever its host has switched on.
class ComputeScope {
 public:
  ComputeScope();
  ~ComputeScope();
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  HostState before_;
  const HostState* outer_;
};

// Within a ComputeScope, for code of the host that a run calls: its modes are on again. Does
// nothing elsewhere.
class HostScope {
 public:
  HostScope();
  ~HostScope();
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  HostState before_;
};

}  // namespace omnirt
