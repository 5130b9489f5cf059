#pragma once
#include <cstdint>
#include <string_view>

namespace omnirt {

// SipHash-1-3 (Aumasson and Bernstein 2012) under a key that each process draws: no one can
// write a file whose texts fall into one place of a table, as they can with std::hash. Never to be
// stored, nor to order anything by.
uint64_t keyed_hash(std::string_view bytes);
uint64_t keyed_hash(uint64_t number);

}  // namespace omnirt
