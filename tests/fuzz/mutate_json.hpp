#pragma once
#include "base/json.hpp"
#include "fuzz/mutate.hpp"

namespace omnirt::fuzz {

// A few changes to a value that leave it well formed: members and items go, are doubled, change
// places, or become numbers, texts, lists and objects that no one expects.
Json mutate_json(Json value, Random& random);

}  // namespace omnirt::fuzz
