#pragma once
#include <string>
#include <vector>

#include "io/weight_file.hpp"

// The layouts in which safetensors files hold small numbers with separate scales:
// - `<layer>.comfy_quant` (JSON) or the metadata `_quantization_metadata`, as ComfyUI writes them
//   (github comfyanonymous/ComfyUI, QUANTIZATION.md; Comfy-Org/comfy-kitchen, tensor/):
//   float8_e4m3fn, float8_e5m2, mxfp8, nvfp4, int8_tensorwise (with and without convrot) and
//   awq_w4a16;
// - a tensor `scaled_fp8`, with `<layer>.scale_weight`, as ComfyUI wrote them before;
// - `<layer>.weight_scale` alone: fp8 with a scale a tensor or a row, int8, and with
//   `weight_scale_2` nvfp4 (diffusers, quantizers/bfl);
// - `<layer>.weight_scale_inv`, fp8 with a scale for each 128 x 128.
namespace omnirt::io {

// `tensors` with the scales taken out and given to the matrices that they belong to, whose shapes
// are then those of the numbers. `tensors` is sorted by name and stays so. Throws InvalidFile for
// a scale that is missing, superfluous or mis-shaped, and Unsupported for layouts of this kind that
// are not read; `file` names it in errors.
std::vector<FoundTensor> fold_scales(std::vector<FoundTensor> tensors, const FileMetadata& metadata,
                                     const std::string& file);

}  // namespace omnirt::io
