#pragma once
#include <span>

#include "engine/convert.hpp"
#include "io/safetensors_writer.hpp"

namespace omnirt {

// Writes tensors as the GGUF file `request.to`, matrices and filters as `request.quantize` where
// rows of that type fit and it is known to do no harm; all else keeps its type (fp8, which GGUF has
// not, becomes fp16, which holds it). Texts of the metadata go along. Returns how many tensors
// became what, and the file's size. Throws Unsupported for types that are not written.
Json write_as_gguf(const Catalogue& catalogue, const ConvertRequest& request,
                   std::span<const io::TensorSource> tensors, const io::FileMetadata& metadata);

}  // namespace omnirt
