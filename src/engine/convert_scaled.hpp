#pragma once
#include <span>

#include "engine/convert.hpp"
#include "io/safetensors_writer.hpp"

namespace omnirt {

// Writes tensors as the safetensors file `request.to`, matrices as `request.quantize` ("fp8",
// "int8_convrot") with their scales, in the layout of ComfyUI's files; filters, and what may not be
// rounded, keep their type. Returns how many tensors became what, and the file's size. Throws
// Unsupported for other types, and for a matrix that holds NaN or infinity.
Json write_as_scaled(const ConvertRequest& request, std::span<const io::TensorSource> tensors,
                     const io::FileMetadata& metadata);

}  // namespace omnirt
