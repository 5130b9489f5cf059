#include "cli/grammar.hpp"

#include <memory>

namespace omnirt::cli {

RequestCommand& RequestCommand::add(CLI::App& program, const std::string& name,
                                    const std::string& description) {
  auto command = std::make_shared<RequestCommand>(description, name, &program);
  RequestCommand& added = *command;
  added.set_help_all_flag("--help-all", "show every flag");
  program.add_subcommand(std::move(command));
  return added;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> shown_flags(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_lnames()) {
    if (flags.empty() || name == "no-" + option.get_lnames().front()) flags.push_back("--" + name);
  }
  return flags;
}

}  // namespace omnirt::cli
