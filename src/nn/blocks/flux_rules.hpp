#pragma once
#include <vector>

#include "nn/original_layout.hpp"

namespace omnirt::nn {

// The names of FLUX.1's blocks in the original code (github black-forest-labs/flux,
// src/flux/modules/layers.py): query, key and value in one matrix, with the perceptron's first in
// the last blocks. Modulations among them, which not all networks with these blocks have.
std::vector<LayoutRule> flux_rules();

// The same of XLabs' LoRAs, of attention alone (diffusers
// lora_conversion_utils._convert_xlabs_flux_lora_to_diffusers).
std::vector<LayoutRule> flux_xlabs_rules();

}  // namespace omnirt::nn
