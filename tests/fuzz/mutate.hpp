#pragma once
#include <cstddef>
#include <random>
#include <string>

namespace omnirt::fuzz {

using Random = std::mt19937_64;

// A number from 0 to below `limit`; 0 for a limit of 0.
size_t below(size_t limit, Random& random);
// A few changes to text, mostly to JSON's parts: bits, pieces, numbers, strings, nesting.
std::string mutate_text(std::string text, Random& random);

}  // namespace omnirt::fuzz
