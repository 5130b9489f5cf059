#pragma once
#include "base/cancel.hpp"

namespace omnirt {

// Lets the code below, however deep, know for which run this thread works: loops inside one long
// operation look at the run's token without receiving it. Scopes nest; null: for none.
class CancelScope {
 public:
  explicit CancelScope(const CancelToken* token);
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;
  ~CancelScope();

 private:
  const CancelToken* before_;
};

// The token of this thread's innermost scope, or null.
const CancelToken* current_cancel();

// Throws Cancelled once the run that this thread works for was cancelled.
void check_cancelled();

}  // namespace omnirt
