#pragma once
#include <optional>
#include <string>

#include "base/json.hpp"
#include "io/sharded.hpp"
#include "runtime/param.hpp"
#include "tensor/weight.hpp"

// Matrices that read more than their file's do, for an adapter that brings what they make of it:
// BFL's control LoRAs, which join a control image to the latents. The additional columns are zeros
// (diffusers FluxLoraLoaderMixin._maybe_expand_transformer_param_shape_or_error_).
namespace omnirt {

// Notes in a component's config that the parameter's file has `columns` of its columns.
void note_widened(Json& config, const std::string& param, int64_t columns);
// The parameter's weight of a tensor {rows, columns} that a note in the config is about; nullopt
// without one.
std::optional<Weight> widened_weight(const io::FoundTensor& tensor, const Param& param,
                                     const Json& config);

}  // namespace omnirt
