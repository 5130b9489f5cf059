#pragma once
#include <span>
#include <string_view>

namespace omnirt::cli {

// Where help shows a flag of a request command.
struct HelpRow {
  enum class Shown {
    always,      // by --help
    with_model,  // by --help where --model names a model that takes it
    all,         // by --help-all
  };
  std::string_view flag;  // its first name, without dashes
  std::string_view group;
  Shown shown = Shown::all;
};

// In the order of the help, a group's flags together. A flag that is not listed comes last.
std::span<const HelpRow> help_rows();

}  // namespace omnirt::cli
