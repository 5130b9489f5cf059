#pragma once
#include <memory>

#include "io/safetensors.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// A tensor of a file as fp32, in memory of its own.
Tensor read_tensor(const std::shared_ptr<const io::SafetensorsFile>& file,
                   const io::TensorEntry& entry);

}  // namespace omnirt
