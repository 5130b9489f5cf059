#include "base/cancel_scope.hpp"

#include <utility>

namespace omnirt {
namespace {

thread_local const CancelToken* current = nullptr;

}  // namespace

CancelScope::CancelScope(const CancelToken* token) : before_(std::exchange(current, token)) {}
CancelScope::~CancelScope() {
  current = before_;
}

const CancelToken* current_cancel() {
  return current;
}

void check_cancelled() {
  if (current) current->check();
}

}  // namespace omnirt
