#pragma once
#include "schedulers/scheduler.hpp"

namespace omnirt {

// Throws InvalidFile unless stepping `fresh`, planned and not stepped yet, from call `begin` leaves
// a history of this form after some call before `end`: the same numbers, as many tensors of each
// name; and its tensors are all of one shape. So what a scheduler finds in a history that it takes
// over is what it could have put there. Steps `fresh`.
void check_history(Scheduler& fresh, const History& history, size_t begin, size_t end);

}  // namespace omnirt
