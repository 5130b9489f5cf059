#pragma once
#include <vector>

#include "base/site_plan.hpp"
#include "nn/network.hpp"

namespace omnirt::nn {

// The modules of a network that a site plan can name, in order of construction.
std::vector<Site> sites_of(const Network& network);

}  // namespace omnirt::nn
