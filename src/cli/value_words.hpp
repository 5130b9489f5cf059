#pragma once
#include <string>

#include "base/keys.hpp"

namespace omnirt::cli {

// What follows a config key's flag, as help shows it: "INT 1..1000", "none|deep", "FILE"; "" of one
// that takes no value.
std::string value_words(const KeyInfo& key);

}  // namespace omnirt::cli
