#include "base/cancel_scope.hpp"

#include <utility>

namespace omnirt {
namespace {

thread_local const CancelToken* innermost = nullptr;

}  // namespace

CancelScope::CancelScope(const CancelToken* token) : before_(std::exchange(innermost, token)) {}
CancelScope::~CancelScope() {
  innermost = before_;
}

const CancelToken* current_cancel() {
  return innermost;
}

void check_cancelled() {
  if (innermost) innermost->check();
}

}  // namespace omnirt
