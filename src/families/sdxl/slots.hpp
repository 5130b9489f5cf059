#pragma once
#include "blocks/slots.hpp"

// The values of SDXL that several of its blocks hand on.
namespace omnirt::families::xl_slots {

inline constexpr Slot<Tensor> first_prompt_embeds{
    "first_prompt_embeds", "what the first text encoder reads", {"B", "T", "D1"}};
inline constexpr Slot<Tensor> pooled_prompt_embeds{
    "pooled_prompt_embeds", "what the prompt means as a whole", {"B", "P"}};

}  // namespace omnirt::families::xl_slots
