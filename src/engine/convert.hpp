#pragma once
#include <filesystem>
#include <string>

#include "pipeline/model_spec.hpp"

namespace omnirt {

struct ConvertRequest {
  std::filesystem::path from;
  std::filesystem::path to;
  std::string layout;  // "diffusers" or "single-file"; "": the one that `from` is not in
  // Over what the file says of itself: "epsilon" or "v_prediction"; "": as the file says.
  std::string prediction_type;
  std::filesystem::path config_folder;  // as config.single_file_config
  // What matrices become: in a GGUF "q8_0" and other types of ggml's, in a .safetensors "fp8" or
  // "int8_convrot"; "": as they are.
  std::string quantize{};
};

// Turns a checkpoint of one file into a folder as diffusers' save_pretrained writes it, or back; or
// either, or a component's folder, into a GGUF file, where `to` ends so (engine/convert_gguf), or
// into a safetensors file of small numbers (engine/convert_scaled). Numbers keep their bits and
// types. Tensors are written one at a time, so memory holds one; what no component takes but the
// conversion back needs (a text encoder's unused last layer, positions, schedules) goes to
// `original_rest.safetensors` in the folder, averages of training are left out. Writes to a
// temporary name next to `to`, then renames. Returns what was done, for the report. Throws
// InvalidRequest where `to` is there already, Unsupported with what `from` was recognised as,
// WeightMismatch.
Json convert(const Catalogue& catalogue, const ConvertRequest& request);

}  // namespace omnirt
