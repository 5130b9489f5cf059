#include "cli/unknown_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "cli/grammar.hpp"
#include "request/other_words.hpp"

namespace omnirt::cli {
namespace {

// Words of other programs for making an image.
constexpr std::array<std::string_view, 10> makes_images{
    "txt2img", "img2img", "text2image", "image2image", "inpaint",
    "run",     "infer",   "sample",     "create",      "predict"};

std::string nearest_command(const CLI::App& app, const std::string& word) {
  if (std::ranges::find(makes_images, word) != makes_images.end()) return "generate";
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return nearest_name(word, names);
}

// The flag of the field that a word of another program means.
std::string flag_of(const RequestCommand& command, const OtherWord& word) {
  std::string field(word.field);
  std::string flag = command.fields.flag_of(field);
  if (!flag.empty() && flag != "--input" && flag != "--component") return flag;
  std::string name = field.substr(field.find('.') + 1);
  if (field.starts_with("inputs.")) return "--input " + name + "=...";
  if (field.starts_with("components.")) return "--component " + name + "=...";
  return "";
}

// What to type in place of a flag that does not exist, for a user who may know it from elsewhere.
std::string instead_of_flag(const CLI::App& command, const std::string& name) {
  const auto* of_request = dynamic_cast<const RequestCommand*>(&command);
  const OtherWord* other = of_request ? find_other_word(name) : nullptr;
  if (other && other->meaning == OtherWord::Meaning::none)
    return of_request->fields.with_flags(std::string(other->note));
  if (other) {
    std::string flag = flag_of(*of_request, *other);
    if (other->note.starts_with("-")) return fmt::format("did you mean {}?", other->note);
    std::string note = other->note.empty() ? "" : fmt::format(" {};", other->note);
    if (!flag.empty()) return fmt::format("did you mean {}?{}", flag, note);
  }
  std::vector<std::string> names;
  std::map<std::string, std::string> first;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& each : option->get_lnames()) {
      names.push_back(each);
      first[each] = option->get_lnames().front();
    }
  }
  std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "there is no such flag"
                         : fmt::format("did you mean --{}?", first[nearest]);
}

std::string of_command(const CLI::App& command, const std::vector<std::string>& words) {
  std::string help = fmt::format("(omnirt {} --help)", command.get_name());
  auto flag = std::ranges::find_if(
      words, [](const std::string& word) { return word.size() > 1 && word.front() == '-'; });
  if (flag != words.end()) {
    std::string name = flag->substr(0, flag->find('='));
    std::string bare =
        name.substr(name.find_first_not_of('-') == name.npos ? 0 : name.find_first_not_of('-'));
    return fmt::format("unknown flag {}: {} {}", name, instead_of_flag(command, bare), help);
  }
  bool prompted = dynamic_cast<const RequestCommand*>(&command);
  return fmt::format(
      "unexpected {}: {}{} {}", words.size() == 1 ? "word" : "words", fmt::join(words, " "),
      prompted ? "; a prompt is given by --prompt, in quotes: -p \"a red apple\"" : "", help);
}

}  // namespace

std::string unknown_word(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> words = app.remaining(/*recurse=*/true);
  std::vector<CLI::App*> parsed = app.get_subcommands();
  if (!parsed.empty()) {
    constexpr int extras = static_cast<int>(CLI::ExitCodes::ExtrasError);
    if (words.empty() || error.get_exit_code() != extras)
      return fmt::format("{} (omnirt {} --help)", error.what(), parsed.back()->get_name());
    return of_command(*parsed.back(), words);
  }
  if (words.empty()) return "a command is expected (omnirt --help)";
  std::string nearest = nearest_command(app, words.front());
  return fmt::format("unknown command {}: {}(omnirt --help)", words.front(),
                     nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest));
}

}  // namespace omnirt::cli
