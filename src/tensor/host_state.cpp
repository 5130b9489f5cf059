#include "tensor/host_state.hpp"

namespace omnirt {
namespace {

// The host's state outside the innermost ComputeScope of this thread.
thread_local const HostState* host = nullptr;

HostState state_of_thread() {
  return {c10::impl::tls_local_dispatch_key_set(), c10::AutogradState::get_tls_state()};
}

void set_state(const HostState& state) {
  c10::impl::_force_tls_local_dispatch_key_set(state.keys);
  c10::AutogradState::set_tls_state(state.autograd);
}

HostState state_of_new_thread() {
  HostState state = state_of_thread();
  state.keys.included_ = c10::default_included_set;
  state.keys.excluded_ = c10::default_excluded_set;
  state.autograd = c10::AutogradState(/*grad_mode=*/true, /*inference_mode=*/false,
                                      /*fw_grad_mode=*/true, /*multithreading_enabled=*/true);
  return state;
}

}  // namespace

ComputeScope::ComputeScope() : before_(state_of_thread()), outer_(host) {
  host = &before_;
  set_state(state_of_new_thread());
}

ComputeScope::~ComputeScope() {
  set_state(before_);
  host = outer_;
}

HostScope::HostScope() : before_(state_of_thread()) {
  if (host) set_state(*host);
}

HostScope::~HostScope() {
  set_state(before_);
}

}  // namespace omnirt
