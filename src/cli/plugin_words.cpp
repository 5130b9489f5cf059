#include "cli/plugin_words.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"

namespace omnirt::cli {
namespace {

constexpr std::string_view flag = "--plugin";

// How a word is read where an option may be.
struct Reading {
  const CLI::Option* option = nullptr;  // null: not known
  bool wants_value = false;             // its value is the next word, whatever that is
};

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

class Scan {
 public:
  Scan(const CLI::App& app, const std::vector<std::string>& words) : app_(app), words_(words) {}

  std::vector<std::filesystem::path> files() {
    while (next_ < words_.size() && words_[next_] != "--") {
      const std::string& word = words_[next_++];
      if (!is_option(word) ? !take_word(word) : !take_option(word)) break;
    }
    return std::move(files_);
  }

 private:
  // False: the end of what can be known.
  bool take_word(const std::string& word) {
    if (command_) return true;
    auto commands =
        app_.get_subcommands([&](const CLI::App* sub) { return sub->check_name(word); });
    if (commands.empty()) return false;
    command_ = commands.front();
    return true;
  }

  bool take_option(const std::string& word) {
    Reading reading = word.starts_with("--") ? read_long(word) : read_short(word);
    if (!reading.option) return next_ == words_.size() || !is_option(words_[next_]);
    bool here = reading.option->check_lname("plugin");
    if (here && !reading.wants_value) files_.emplace_back(word.substr(flag.size() + 1));
    if (!reading.wants_value) return true;
    if (next_ == words_.size()) return false;
    if (here) files_.emplace_back(words_[next_]);
    ++next_;
    return true;
  }

  // "--name", "--name=value"; with nothing after the sign, the value is the next word.
  Reading read_long(const std::string& word) const {
    size_t equals = word.find('=');
    const CLI::Option* option = find(word.substr(0, equals));
    bool has_value = equals != std::string::npos && equals + 1 < word.size();
    return {option, option && takes_value(*option) && !has_value};
  }

  // "-x", "-xvalue", and flags together, "-qx".
  Reading read_short(const std::string& word) const {
    for (size_t i = 1; i < word.size(); ++i) {
      const CLI::Option* option = find({'-', word[i]});
      if (!option) return {};
      if (takes_value(*option)) return {option, i + 1 == word.size()};
      if (i + 1 == word.size()) return {option, false};
    }
    return {};
  }

  static bool takes_value(const CLI::Option& option) {
    return std::min(option.get_type_size_min(), option.get_items_expected_min()) > 0;
  }

  // A subcommand's own options go before those that it shares.
  const CLI::Option* find(const std::string& name) const {
    const CLI::Option* own = command_ ? command_->get_option_no_throw(name) : nullptr;
    return own ? own : app_.get_option_no_throw(name);
  }

  const CLI::App& app_;
  const std::vector<std::string>& words_;
  const CLI::App* command_ = nullptr;
  size_t next_ = 0;
  std::vector<std::filesystem::path> files_;
};

}  // namespace

bool may_name_plugins(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) { return word.starts_with(flag); });
}

std::vector<std::filesystem::path> plugin_words(const CLI::App& app,
                                                const std::vector<std::string>& words) {
  return Scan(app, words).files();
}

void check_plugins(const std::vector<std::filesystem::path>& loaded,
                   const std::vector<std::string>& read) {
  const std::vector<std::string> known(loaded.begin(), loaded.end());
  if (known == read) return;
  auto beyond = std::ranges::mismatch(known, read).in2;
  throw InvalidRequest({"--plugin", beyond == read.end() ? "" : *beyond,
                        "not loaded: it stands where it could be a value, after a flag "
                        "that a plug-in brings or after --",
                        "put --plugin before the subcommand: omnirt --plugin FILE generate ..."});
}

}  // namespace omnirt::cli
