#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

inline constexpr size_t max_prompt_turns = 64;  // different texts of a prompt
inline constexpr size_t max_scheduled_prompt_bytes = size_t{1} << 14;  // of one that changes

// What a prompt is at each step.
struct ScheduledText {
  std::vector<std::string> texts;  // that of the first step first
  // For each step the text that is read there; empty where there is one text.
  std::vector<int64_t> by_step;
  bool operator==(const ScheduledText&) const = default;
};

// A1111's words that change with the step (its wiki, "Prompt editing" and "Alternating Words"):
// [a:b:when] is a, and b from step `when` on; [b:when] and [a::when] leave one of the two out;
// [a|b|c] is one after the other, step by step. `when` with a point is a part of `steps`, without
// one a number of steps. They nest, and a backslash before a character makes it a plain one.
// Brackets of another form stay as they are. Throws InvalidRequest under `field` where the text is
// no prompt (check_prompt) or passes a bound.
ScheduledText schedule_of(std::string_view text, std::string_view field, int64_t steps);

}  // namespace omnirt::text
