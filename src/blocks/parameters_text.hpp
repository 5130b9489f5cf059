#pragma once
#include <string>

#include "base/json.hpp"

namespace omnirt::blocks {

// The request of one image (its record, cut down to that image's prompt and seed) as the text that
// AUTOMATIC1111 writes into its images, and that its PNG Info, ComfyUI's readers and Civitai show:
// the prompt, "Negative prompt: ...", and a line "Steps: 20, Sampler: Euler a, ...". Names no
// folders; LoRAs are at the prompt's end as <lora:name:scale>. Control characters become spaces.
std::string parameters_text(const Json& record);

}  // namespace omnirt::blocks
