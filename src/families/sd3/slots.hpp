#pragma once
#include "pipeline/block.hpp"

// The values that blocks of Stable Diffusion 3 hand on.
namespace omnirt::sd3 {

inline constexpr Slot<Tensor> first_prompt_embeds{
    "first_prompt_embeds", "what the first text encoder reads", {"B", "T", "D1"}};
inline constexpr Slot<Tensor> first_pooled_embeds{
    "first_pooled_embeds", "what the prompt means as a whole to it", {"B", "P1"}};
inline constexpr Slot<Tensor> clip_prompt_embeds{
    "clip_prompt_embeds", "what both CLIPs read, side by side", {"B", "T", "D"}};
inline constexpr Slot<Tensor> pooled_prompt_embeds{
    "pooled_prompt_embeds", "what the prompt means as a whole", {"B", "P"}};

}  // namespace omnirt::sd3
