#pragma once
#include <memory>

#include "engine/session.hpp"

namespace omnirt {

// A session over all that this build holds.
std::unique_ptr<Session> make_session(bool single_run = false);

}  // namespace omnirt
