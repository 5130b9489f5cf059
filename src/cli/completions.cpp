// The shells' completions, from the program's own declarations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/commands.hpp"
#include "cli/grammar.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

using Words = std::vector<std::string>;

// What may be typed in some place: words, or nothing that is known, so that the shell offers files.
struct Names {
  Words models, schedulers;

  explicit Names(const Session& session) {
    std::set<std::string> found;
    for (const Json& entry : session.models()) {
      std::string id = entry["id"].get<std::string>();
      if (std::ranges::find(models, id) == models.end()) models.push_back(id);
      for (const Json& name : entry.value("supported_schedulers", Json::array()))
        found.insert(name.get<std::string>());
    }
    schedulers.assign(found.begin(), found.end());
  }
};

// "none|deep" of a type; nothing where a part of it is no word but a kind of value.
Words choices(const std::string& type) {
  Words words{""};
  for (char c : type) {
    if (c == '|')
      words.emplace_back();
    else
      words.back() += c;
  }
  bool kinds = std::ranges::any_of(words, [](const std::string& word) {
    return word.empty() ||
           std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c) || c == ' '; });
  });
  return kinds ? Words{} : words;
}

Words values_of(const CLI::Option& option, const Names& names) {
  if (option.get_positional()) return option.get_name() == "id" ? names.models : Words{};
  const std::string& flag = option.get_lnames().front();
  if (flag == "model") return names.models;
  if (flag == "scheduler") return names.schedulers;
  return choices(option.get_type_name());
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_min() > 0 && !option.get_type_name().empty();
}

// By a flag in all its spellings, what may follow it; commands share flags of one meaning.
std::map<std::string, Words> values_by_flag(const CLI::App& app, const Names& names) {
  std::map<std::string, Words> values;
  for (const CLI::App* command : commands_of(app)) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() || !takes_value(*option)) continue;
      for (const std::string& name : option->get_lnames())
        values.emplace("--" + name, values_of(*option, names));
      for (const std::string& name : option->get_snames())
        values.emplace("-" + name, values_of(*option, names));
    }
  }
  return values;
}

// What may be at a free place of a command: its flags, and the words that it takes.
Words words_of(const CLI::App& command, const Names& names) {
  Words words;
  for (const CLI::Option* option : command.get_options()) {
    Words here = option->get_positional() ? values_of(*option, names) : shown_flags(*option);
    words.insert(words.end(), here.begin(), here.end());
  }
  if (command.get_name() == "completions") words.insert(words.end(), {"bash", "zsh", "fish"});
  return words;
}

void print_bash(const CLI::App& app, const Names& names) {
  cli::print(
      "_omnirt() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= "
      "words= "
      "i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${{COMP_WORDS[i]}} in\n"
      "      --plugin) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) command=${{COMP_WORDS[i]}}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $before in\n");
  std::map<std::string, Words> by_values;
  for (const auto& [flag, values] : values_by_flag(app, names))
    by_values[fmt::format("{}", fmt::join(values, " "))].push_back(flag);
  for (const auto& [values, flags] : by_values) {
    std::string take = values.empty() ? "return" : fmt::format("words='{}'", values);
    cli::print("    {}) {} ;;\n", fmt::join(flags, "|"), take);
  }
  Words commands;
  cli::print("  esac\n  [ -n \"$words\" ] || case $command in\n");
  for (const CLI::App* command : commands_of(app)) {
    commands.push_back(command->get_name());
    cli::print("    {}) words='{}' ;;\n", command->get_name(),
               fmt::join(words_of(*command, names), " "));
  }
  cli::print("    '') words='{} --help --version --plugin' ;;\n  esac\n", fmt::join(commands, " "));
  cli::print("  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n");
  cli::print("complete -o default -F _omnirt omnirt\n");
}

void print_zsh(const CLI::App& app, const Names& names) {
  cli::print("autoload -U +X bashcompinit && bashcompinit\n");
  print_bash(app, names);
}

std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

void print_fish_flag(const CLI::App& command, const CLI::Option& option, const Names& names) {
  Words values = values_of(option, names);
  std::string taken = !takes_value(option) ? ""
                      : values.empty()     ? " -r"
                                           : fmt::format(" -x -a '{}'", fmt::join(values, " "));
  std::string brief = option.get_snames().empty() ? "" : " -s " + option.get_snames().front();
  for (const std::string& flag : shown_flags(option)) {
    cli::print("complete -c omnirt -n '__fish_seen_subcommand_from {}' -l {}{}{} -d '{}'\n",
               command.get_name(), flag.substr(2), brief, taken, quoted(option.get_description()));
    brief.clear();
  }
}

void print_fish(const CLI::App& app, const Names& names) {
  for (const CLI::App* command : commands_of(app)) {
    cli::print("complete -c omnirt -n __fish_use_subcommand -a {} -d '{}'\n", command->get_name(),
               quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional()) {
        print_fish_flag(*command, *option, names);
      } else if (Words values = values_of(*option, names); !values.empty()) {
        cli::print("complete -c omnirt -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                   command->get_name(), fmt::join(values, " "));
      }
    }
  }
}

}  // namespace

void add_completions(CLI::App& app, Run& run, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completions", "print completions for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &run, &app, &session] {
    run = [shell, &app, &session] {
      const Names names(session);
      if (*shell == "bash")
        print_bash(app, names);
      else if (*shell == "zsh")
        print_zsh(app, names);
      else
        print_fish(app, names);
      return 0;
    };
  });
}

}  // namespace omnirt::cli
