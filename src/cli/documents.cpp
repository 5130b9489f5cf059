#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"

// The man page and the shells' completions, both from the program's own declarations.
namespace omnirt::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

void print_bash(const CLI::App& app) {
  fmt::print(
      "_omnirt() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} flags=\n  case ${{COMP_WORDS[1]}} "
      "in\n");
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) {
    names.push_back(command->get_name());
    fmt::print("    {}) flags='{}' ;;\n", command->get_name(), fmt::join(flags_of(*command), " "));
  }
  fmt::print("    *) flags='{}' ;;\n  esac\n", fmt::join(names, " "));
  fmt::print("  COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n}}\n");
  fmt::print("complete -o default -F _omnirt omnirt\n");
}

void print_zsh(const CLI::App& app) {
  fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  print_bash(app);
}

std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

void print_fish(const CLI::App& app) {
  for (const CLI::App* command : commands_of(app)) {
    fmt::print("complete -c omnirt -n __fish_use_subcommand -a {} -d '{}'\n", command->get_name(),
               quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        fmt::print("complete -c omnirt -n '__fish_seen_subcommand_from {}' -l {} -d '{}'\n",
                   command->get_name(), name, quoted(option->get_description()));
      }
    }
  }
}

// Characters that troff takes as commands.
std::string troff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void print_man(const CLI::App& app) {
  fmt::print(
      ".TH OMNIRT 1\n.SH NAME\nomnirt \\- {}\n.SH SYNOPSIS\n.B omnirt\n.I command\n[options]\n",
      troff(app.get_description()));
  fmt::print(".SH COMMANDS\n");
  for (const CLI::App* command : commands_of(app)) {
    fmt::print(".SS omnirt {}\n{}\n", troff(command->get_name()),
               troff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      fmt::print(".TP\n.B {}\n{}\n", troff(option->get_name(false, true)),
                 troff(option->get_description()));
    }
  }
  fmt::print(".SH EXIT STATUS\n0 done; 2 a bad request; 3 a run that failed; 130 interrupted.\n");
  fmt::print(
      ".SH ENVIRONMENT\n.TP\n.B OMNIRT_MODELS\nFolders, separated by ':', in which models are "
      "found by id.\n.TP\n.B OMNIRT_CPU_TARGET\nThe instruction set that the cpu's kernels use at "
      "most; omnirt backends lists those of this machine.\n");
}

}  // namespace

void add_completions(CLI::App& app, Run& run) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completions", "print completions for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &run, &app] {
    run = [shell, &app] {
      if (*shell == "bash")
        print_bash(app);
      else if (*shell == "zsh")
        print_zsh(app);
      else
        print_fish(app);
      return 0;
    };
  });
}

void add_man(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("man", "print the manual page (troff)");
  command->callback([&run, &app] {
    run = [&app] {
      print_man(app);
      return 0;
    };
  });
}

}  // namespace omnirt::cli
