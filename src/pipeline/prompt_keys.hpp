#pragma once
#include <array>

#include "base/keys.hpp"

namespace omnirt {

// How prompts are read beyond their words.
enum class PromptSyntax { plain, a1111, compel };
template <>
struct ChoiceNames<PromptSyntax> {
  static constexpr std::array names{"plain", "a1111", "compel"};
};

}  // namespace omnirt

namespace omnirt::keys {

inline constexpr Key<PromptSyntax> prompt_syntax{
    "prompt_syntax", PromptSyntax::plain, "prompt-syntax",
    "how prompts are read: plain, as words only; a1111, with (weights:1.2), BREAK, "
    "<lora:name:0.8>, and prompts longer than the text encoder's window; compel, with weights+, "
    "(weights)1.2, .blend() and .and()"};

}  // namespace omnirt::keys
