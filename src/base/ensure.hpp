#pragma once
#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt {

// For what only this project's code can break; what a user can cause is an InvalidRequest instead.
template <class... Args>
void ensure(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  if (!condition) throw InternalError(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace omnirt
