#pragma once
#include <set>
#include <string>

namespace omnirt::cli {

// Gives flags their other names: with '_' for '-', the config key's own, and the words by which
// other programs' users know them (request/other_words.hpp). What is a flag's first name stays
// that flag's alone.
class FlagAliases {
 public:
  // `own`: all flags' first names, with their dashes.
  explicit FlagAliases(std::set<std::string> own) : taken_(std::move(own)) {}

  // `names` ("-m,--model") with the aliases of a flag that says `field` after them.
  std::string with(const std::string& names, const std::string& field);

 private:
  void add(std::string& names, const std::string& name);
  void add_both(std::string& names, const std::string& word);
  std::set<std::string> taken_;
};

}  // namespace omnirt::cli
