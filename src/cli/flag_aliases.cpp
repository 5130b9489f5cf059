#include "cli/flag_aliases.hpp"

#include <algorithm>

#include "request/other_words.hpp"

namespace omnirt::cli {

void FlagAliases::add(std::string& names, const std::string& name) {
  if (taken_.insert(name).second) names += "," + name;
}

// "--cfg-scale" and "--cfg_scale"; of one letter "-W".
void FlagAliases::add_both(std::string& names, const std::string& word) {
  if (word.size() == 1) return add(names, "-" + word);
  for (auto [from, to] : {std::pair{'_', '-'}, std::pair{'-', '_'}}) {
    std::string name = word;
    std::ranges::replace(name, from, to);
    add(names, "--" + name);
  }
}

std::string FlagAliases::with(const std::string& names, const std::string& field) {
  std::string all = names, name;
  for (char c : names + ",") {
    if (c != ',') {
      name += c;
      continue;
    }
    taken_.insert(name);
    if (name.starts_with("--")) add_both(all, name.substr(2));
    name.clear();
  }
  constexpr std::string_view config = "config.";
  if (field.starts_with(config)) add_both(all, field.substr(config.size()));
  for (const OtherWord& word : other_words()) {
    if (word.field == field && word.meaning == OtherWord::Meaning::same)
      add_both(all, std::string(word.word));
  }
  return all;
}

}  // namespace omnirt::cli
