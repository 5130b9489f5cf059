#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/flag_names.hpp"

namespace omnirt::cli {

// A subcommand whose flags describe a request (generate, validate, bench).
class RequestCommand : public CLI::App {
 public:
  // Added to `program`, which owns it.
  static RequestCommand& add(CLI::App& program, const std::string& name,
                             const std::string& description);
  RequestCommand(const std::string& description, const std::string& name, CLI::App* program)
      : CLI::App(description, name, program) {}

  FlagNames fields;
};

std::vector<const CLI::App*> commands_of(const CLI::App& app);

// The flags of an option as help and completions show them, with their dashes: its first name and
// the one that turns it off; its other names are aliases.
std::vector<std::string> shown_flags(const CLI::Option& option);

}  // namespace omnirt::cli
