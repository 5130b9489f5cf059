#pragma once
#include <string>

#include "pipeline/block.hpp"

namespace omnirt {

struct Catalogue;

// What could make a value that a block reads and none before makes: blocks of the list itself that
// come too late or whose trigger does not hold, then blocks of the catalogue's other lists.
// A sentence for a finding's fix. `catalogue` may be null.
std::string who_could_make(const std::string& value, std::type_index type, const BlockList& list,
                           const Facts& facts, const Catalogue* catalogue);

}  // namespace omnirt
