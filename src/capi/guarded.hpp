#pragma once
#include <string>
#include <utility>

#include "capi/omnirt.h"

namespace omnirt::capi {

// The calling thread's last error; "" after a call that succeeded.
std::string& last_error() noexcept;

// The status of the exception that is being handled; its text becomes the last error.
omnirt_status caught() noexcept;

// Runs `body` for a function of the C API: what it throws becomes a status, and nothing leaves.
template <class Body>
omnirt_status guarded(Body&& body) noexcept {
  last_error().clear();
  try {
    std::forward<Body>(body)();
    return OMNIRT_OK;
  } catch (...) {
    return caught();
  }
}

// Throws InvalidRequest naming the argument where `pointer` is null.
void require(const void* pointer, const char* argument);

}  // namespace omnirt::capi
