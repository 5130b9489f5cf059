#pragma once
#include <functional>
#include <vector>

#include "io/safetensors_writer.hpp"

namespace omnirt {

// Whether a tensor may be written in fewer bits: floats of a matrix or a filter, of which the field
// rounds neither tables of tokens and positions, nor what takes the time and the class, nor the
// first and last layer, nor autoencoders.
bool may_be_rounded(const io::TensorSource& tensor);
// All its numbers, in fp32.
std::vector<float> numbers_of(const io::TensorSource& tensor);

// Calls `part` for runs of [0, units) of at least `least`, on all threads that kernels may use.
void in_parts(size_t units, size_t least,
              const std::function<void(size_t first, size_t count)>& part);

}  // namespace omnirt
