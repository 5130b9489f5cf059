#pragma once
#include <string>

#include "base/report.hpp"

namespace omnirt::cli {

// What a run with config.profile took, as two tables: by op and kernel, the most expensive first,
// and by block of each network, in its order. Empty where nothing was profiled.
std::string profile_tables(const RunReport& report);

}  // namespace omnirt::cli
