#pragma once
#include "blocks/prompt_turns.hpp"
#include "blocks/slots.hpp"

// The values of SDXL that several of its blocks pass on.
namespace omnirt::families::xl_slots {

inline constexpr Slot<Tensor> first_prompt_embeds{
    "first_prompt_embeds", "what the first text encoder reads", {"B", "T", "D1"}};
inline constexpr Slot<blocks::PromptTurns> first_prompt_turns{
    "first_prompt_turns", "what the first text encoder reads at each step, where it changes"};
inline constexpr Slot<Tensor> pooled_prompt_embeds{
    "pooled_prompt_embeds", "what the prompt means as a whole", {"B", "P"}};

}  // namespace omnirt::families::xl_slots
