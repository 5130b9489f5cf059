#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/session.hpp"

namespace omnirt {

// A session over all that this build holds, and what `plugins` add to it, in this order. Throws
// InvalidRequest naming the plug-in that does not fit (engine/plugins.hpp).
std::unique_ptr<Session> make_session(bool single_run = false,
                                      const std::vector<std::filesystem::path>& plugins = {});

// The cpu computes on `count` threads, from 1; to be called before anything is computed.
void limit_threads(int count);

}  // namespace omnirt
