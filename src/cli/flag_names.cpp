#include "cli/flag_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace omnirt::cli {
namespace {

// "config.seed" and "config.seed.x" are the field "config.seed" or below it, "config.seed_2" is
// not.
bool within(const std::string& field, const std::string& whole) {
  if (!field.starts_with(whole)) return false;
  return field.size() == whole.size() ||
         std::string(".[ ").find(field[whole.size()]) != std::string::npos;
}

bool of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The flag that says any field of a kind: "--set eta=..." for config.eta.
struct AnyOf {
  const char* place;
  const char* flag;
};
constexpr std::array any_of{AnyOf{"config.", "--set "}, AnyOf{"inputs.", "--input "},
                            AnyOf{"components.", "--component "},
                            AnyOf{"guider.", "--guider-set "}};

}  // namespace

void FlagNames::add(const std::string& field, const std::string& flag) {
  flags_[field] = flag;
}

std::string FlagNames::flag_of(const std::string& field) const {
  std::string found;
  for (const auto& [whole, flag] : flags_) {
    // In order, so that the longest, which says most, comes last.
    if (within(field, whole)) found = flag;
  }
  return found;
}

std::string FlagNames::with_flags(const std::string& text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    bool begins = at == 0 || (!of_name(text[at - 1]) && text[at - 1] != '.');
    const auto* any = std::ranges::find_if(any_of, [&](const AnyOf& each) {
      return begins &&
             text.compare(at, std::char_traits<char>::length(each.place), each.place) == 0;
    });
    if (any == any_of.end()) {
      out += text[at++];
      continue;
    }
    const size_t name = at + std::char_traits<char>::length(any->place);
    size_t end = name;
    while (end < text.size() && of_name(text[end])) ++end;
    auto flag = flags_.find(text.substr(at, end - at));
    out += flag != flags_.end() ? flag->second : any->flag + text.substr(name, end - name) + "=...";
    at = end;
  }
  return out;
}

Finding FlagNames::in_flags(Finding finding) const {
  auto given = std::ranges::find_if(
      typed_, [&](const std::string& field) { return within(finding.field, field); });
  std::string flag = given == typed_.end() ? "" : flag_of(finding.field);
  if (flag == "--" + finding.field)
    finding.field = flag;
  else if (!flag.empty())
    finding.field = flag + " (" + finding.field + ")";
  if (!flag.empty() || !file_) finding.way_out = with_flags(finding.way_out);
  return finding;
}

std::vector<Finding> FlagNames::in_flags(std::vector<Finding> findings) const {
  for (Finding& finding : findings) finding = in_flags(std::move(finding));
  return findings;
}

}  // namespace omnirt::cli
