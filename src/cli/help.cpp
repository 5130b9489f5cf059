#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "cli/grammar.hpp"
#include "cli/help_rows.hpp"

namespace omnirt::cli {
namespace {

constexpr size_t column = 36, width = 100;

// What the model that was named takes, by its entries of all tasks.
struct Takes {
  std::string id;
  bool named = false;  // by --model: then nothing else is shown
  std::set<std::string> keys, inputs;
  std::map<std::string, Json> defaults;  // of keys

  explicit Takes(const Json& model) : id(model["id"].get<std::string>()) {
    for (const Json& task : model["tasks"]) {
      for (const Json& key : task["supported_config"]) keys.insert(key.get<std::string>());
      for (const char* list : {"required_inputs", "optional_inputs"})
        for (const Json& input : task[list]) inputs.insert(input.get<std::string>());
      for (const auto& [key, value] : task["default_config"].items()) defaults.emplace(key, value);
    }
  }
};

// A long text by its first words; docs/reference/keys.md has all of it.
std::string beginning(const std::string& text) {
  constexpr size_t most = 60;
  const size_t line = text.find('\n');
  if (line == std::string::npos && text.size() <= most) return text;
  return text.substr(0, std::min(line, text.rfind(' ', most))) + " ...";
}

std::string shown_default(const Json& value) {
  if (value.is_null() || value == false) return "";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.is_string() ? beginning(value.get<std::string>()) : value.dump();
}

const CLI::Option* option_of(const CLI::App& command, std::string_view flag) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty() && option->get_lnames().front() == flag) return option;
  }
  return nullptr;
}

std::string paragraph(const std::string& title, const std::string& lines) {
  return lines.empty() ? "" : fmt::format("\n{}:\n{}", title, lines);
}

std::string usage(const CLI::App& command) {
  std::string text =
      fmt::format("{}\nUsage: omnirt {} [flags]", command.get_description(), command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional())
      text += option->get_required() ? " " + option->get_name() : " [" + option->get_name() + "]";
  }
  return text + "\n";
}

std::string of_commands(const CLI::App& program) {
  std::string commands, flags;
  for (const CLI::App* command : commands_of(program))
    commands += help_line(command->get_name(), command->get_description());
  for (const CLI::Option* option : program.get_options())
    flags += help_line(flag_words(*option), option->get_description());
  return fmt::format("{}\nUsage: omnirt COMMAND [flags]\n", program.get_description()) +
         paragraph("Commands", commands) + paragraph("Flags", flags) +
         paragraph("Examples",
                   "  omnirt generate -p \"a red apple\" -o apple.png\n"
                   "  omnirt models\n"
                   "  omnirt generate --help\n");
}

std::string of_other(const CLI::App& command) {
  std::string words, flags;
  for (const CLI::Option* option : command.get_options())
    (option->get_positional() ? words : flags) +=
        help_line(flag_words(*option), option->get_description());
  return usage(command) + paragraph("Words", words) + paragraph("Flags", flags);
}

// The help of a command whose flags describe a request.
class RequestHelp {
 public:
  RequestHelp(const RequestCommand& command, const std::map<std::string, const KeyInfo*>& keys,
              const Takes& takes, bool all)
      : command_(command), keys_(keys), takes_(takes), all_(all) {}

  std::string text() const {
    std::string text = usage(command_), lines;
    std::set<std::string> listed;
    const auto rows = help_rows();
    for (size_t i = 0; i < rows.size(); ++i) {
      lines += line(option_of(command_, rows[i].flag), rows[i].shown);
      listed.emplace(rows[i].flag);
      if (i + 1 < rows.size() && rows[i + 1].group == rows[i].group) continue;
      text += paragraph(std::string(rows[i].group), lines);
      lines.clear();
    }
    for (const CLI::Option* option : command_.get_options()) {
      if (!option->get_lnames().empty() && !listed.contains(option->get_lnames().front()))
        lines += line(option, HelpRow::Shown::with_model);
    }
    return text + paragraph("More", lines) + footer();
  }

 private:
  const KeyInfo* key_of(const CLI::Option& option) const {
    auto key = keys_.find(option.get_lnames().front());
    return key == keys_.end() ? nullptr : key->second;
  }

  // Whether the model that was named makes any use of the flag.
  bool taken(const CLI::Option& option) const {
    if (const KeyInfo* key = key_of(option)) return takes_.keys.contains(key->name);
    constexpr std::array inputs{"prompt", "prompt_2", "negative_prompt", "negative_prompt_2",
                                "image",  "mask",     "latents",         "encoded_prompt"};
    const std::string flag = "--" + option.get_lnames().front();
    return std::ranges::all_of(inputs, [&](const std::string& name) {
      return command_.fields.flag_of("inputs." + name) != flag || takes_.inputs.contains(name);
    });
  }

  std::string line(const CLI::Option* option, HelpRow::Shown shown) const {
    if (!option || (takes_.named && !taken(*option))) return "";
    bool here = all_ || shown == HelpRow::Shown::always ||
                (shown == HelpRow::Shown::with_model && takes_.named);
    if (!here) return "";
    const KeyInfo* key = key_of(*option);
    return help_line(flag_words(*option),
                     option->get_description() + (key ? default_words(*key) : ""));
  }

  // "[8 with emoji]" where models differ and none was named.
  std::string default_words(const KeyInfo& key) const {
    auto own = takes_.defaults.find(key.name);
    bool by_model = own != takes_.defaults.end();
    std::string text = shown_default(by_model ? own->second : key.fallback_json());
    if (text.empty()) return "";
    return by_model && !takes_.named ? fmt::format(" [{} with {}]", text, takes_.id)
                                     : fmt::format(" [{}]", text);
  }

  std::string footer() const {
    if (takes_.named) return fmt::format("\nThese are what {} takes.\n", takes_.id);
    return all_ ? ""
                : "\n--help-all lists every flag; --help --model ID those that a model takes, with "
                  "its defaults.\nKeys of requests are flags, too: --num_inference_steps is "
                  "--steps.\n";
  }

  const RequestCommand& command_;
  const std::map<std::string, const KeyInfo*>& keys_;
  const Takes& takes_;
  bool all_;
};

}  // namespace

std::string flag_words(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  std::string text;
  std::vector<std::string> names = shown_flags(option);
  // Of short names the first; others are other programs'.
  if (!option.get_snames().empty()) text = "-" + option.get_snames().front() + ", ";
  text += fmt::format("{}", fmt::join(names, ", "));
  bool takes_value = option.get_items_expected_max() > 0 && !option.get_type_name().empty();
  return takes_value ? text + " " + option.get_type_name() : text;
}

std::string help_line(const std::string& flags, const std::string& help) {
  std::string text = "  " + flags, word;
  size_t at = text.size();
  auto next_line = [&] {
    text += "\n" + std::string(column, ' ');
    at = column;
  };
  if (at + 2 > column) {
    next_line();
  } else {
    text += std::string(column - at, ' ');
    at = column;
  }
  for (char c : help + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (at > column && at + 1 + word.size() > width) next_line();
    if (at > column) text += " ", ++at;
    text += word;
    at += word.size();
    word.clear();
  }
  return text + "\n";
}

HelpText::HelpText(std::vector<const KeyInfo*> keys, Describe describe)
    : describe_(std::move(describe)) {
  for (const KeyInfo* key : keys) keys_[key->flag_name()] = key;
}

std::string HelpText::make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const {
  if (dynamic_cast<const RequestCommand*>(app))
    return of_request(*app, mode == CLI::AppFormatMode::All);
  return commands_of(*app).empty() ? of_other(*app) : of_commands(*app);
}

std::string HelpText::of_request(const CLI::App& command, bool all) const {
  const auto& given = command.get_option("--model")->results();
  // No other model does what the command is for.
  const std::string only = command.get_name() == "upscale" ? "upscaler" : "";
  Takes takes(describe_(given.empty() ? only : given.front()));
  takes.named = !given.empty() || !only.empty();
  return RequestHelp(dynamic_cast<const RequestCommand&>(command), keys_, takes, all).text();
}

}  // namespace omnirt::cli
