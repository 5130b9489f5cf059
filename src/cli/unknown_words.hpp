#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace omnirt::cli {

// What to say of a command line that could not be read: the word that was not expected, and the
// nearest there is. `app` is the grammar after its failure.
std::string unknown_word(const CLI::App& app, const CLI::ParseError& error);

}  // namespace omnirt::cli
