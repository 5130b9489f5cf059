#pragma once
#include <cstddef>
#include <cstdint>

// One input through the readers: the first byte picks which (see target.cpp), the rest is the
// content. Ends the process when an input that was accepted breaks a promise of the reader, or when
// one is refused by anything but an InvalidFile. Also libFuzzer's entry point.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace omnirt::fuzz {

enum Reader : uint8_t { header_reader, file_reader, index_reader };

// How many inputs were accepted, to show that the mutations do not only make refusals.
size_t accepted();

}  // namespace omnirt::fuzz
