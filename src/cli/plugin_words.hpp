#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace omnirt::cli {

// Whether any word could be a --plugin; most command lines have none, and need no look ahead.
bool may_name_plugins(const std::vector<std::string>& words);

// The files that --plugin names, taken from the words after the program's name before plug-ins are
// loaded, so before their flags are known. `app` is the grammar without them: it says which words
// are values of other options, and those are never taken, nor what follows `--`. It ends at the
// first flag that it does not know when a word with a dash follows: that word may be the flag's
// value. What it leaves, check_plugins refuses.
std::vector<std::filesystem::path> plugin_words(const CLI::App& app,
                                                const std::vector<std::string>& words);

// Throws InvalidRequest unless the grammar with the plug-ins' flags reads the same --plugin words.
void check_plugins(const std::vector<std::filesystem::path>& loaded,
                   const std::vector<std::string>& read);

}  // namespace omnirt::cli
