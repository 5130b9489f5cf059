#pragma once
#include "nn/original_layout.hpp"

namespace omnirt {

// How the original code names the transformer's layers, and adapters of ComfyUI and ai-toolkit do
// (diffusers lora_conversion_utils._convert_non_diffusers_krea2_lora_to_diffusers).
nn::OriginalLayout krea2_original_layout();

}  // namespace omnirt
