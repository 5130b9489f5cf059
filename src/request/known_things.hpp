#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt {

// What a small model was made to draw: a file of this name in its folder, UTF-8, one name per line.
inline constexpr const char* things_file = "things.txt";

// The list of the folder `model`, in its order and without empty lines; empty where there is none.
// Throws InvalidFile for a list of more than 64 KiB, 1,024 names or 64 bytes per name, and for one
// that is not UTF-8.
std::vector<std::string> read_known_things(const std::filesystem::path& model);

// Whether `prompt` has words, and none of `things` is among the first 512 of them: its words, one
// after the other, in small or capital letters (of ASCII). A word is a run of letters and digits.
bool names_none_of(std::string_view prompt, std::span<const std::string> things);

// Up to three of `things` that may have been meant by `prompt`: those that share a word of four
// letters with its first 16 words, and those that are a slip away from some of them.
std::vector<std::string> things_near(std::string_view prompt, std::span<const std::string> things);

}  // namespace omnirt
