#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/keys.hpp"

namespace omnirt::cli {

// What --help and --help-all print: flags in groups, the usual ones alone or all of them, with the
// values that they take; defaults as the model has them that --model names, and then what that
// model takes alone.
class HelpText final : public CLI::FormatterBase {
 public:
  // `describe`: a model as Session::model does, by id or path, "" the default one.
  using Describe = std::function<Json(const std::string& model)>;
  HelpText(std::vector<const KeyInfo*> keys, Describe describe);

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::string of_request(const CLI::App& command, bool all) const;
  std::map<std::string, const KeyInfo*> keys_;  // by flag
  Describe describe_;
};

// "  -m, --model ID", then the help in a column of its own, in lines of at most 100 characters.
std::string help_line(const std::string& flags, const std::string& help);
// "-m, --model ID|FOLDER" of a flag, "FOLDER" of a word without one.
std::string flag_words(const CLI::Option& option);

}  // namespace omnirt::cli
