#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/mutate.hpp"

// One input through the target. Ends the process when an input that was accepted breaks a promise
// of its reader, or when one is refused by anything but findings. Also libFuzzer's entry point.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace omnirt::fuzz {

// Each fuzzer defines these two.

// An input that a generator of this state leads to, mostly damaged.
std::string make_input(Random& random);
// Reads it as the program would. Throws InvalidRequest, or what derives from it, to refuse it.
void read_input(std::string_view input);

// Ends the process, naming the promise, where the condition does not hold.
void require(bool condition, const char* promise);

// How many inputs were accepted, to show that the mutations do not only make refusals.
size_t accepted();

}  // namespace omnirt::fuzz
