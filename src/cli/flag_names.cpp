#include "cli/flag_names.hpp"

#include <algorithm>
#include <array>

namespace omnirt::cli {
namespace {

// "config.seed" and "config.seed.x" are the field "config.seed" or below it, "config.seed_2" is
// not.
bool within(const std::string& field, const std::string& whole) {
  if (!field.starts_with(whole)) return false;
  return field.size() == whole.size() ||
         std::string(".[ ").find(field[whole.size()]) != std::string::npos;
}

// The flag that sets any field of a kind: "--input image_reference=..." for
// inputs.image_reference.
struct AnyOf {
  const char* place;
  const char* flag;
};
constexpr std::array any_of{AnyOf{"config.scheduler_config.", "--scheduler-set "},
                            AnyOf{"inputs.", "--input "}, AnyOf{"components.", "--component "},
                            AnyOf{"guider.", "--guider-set "}};

// A value as a shell takes it.
std::string quoted(const std::string& value) {
  const bool plain = value.find_first_of("{}[]\"*<>|& ") == std::string::npos;
  return plain ? value : "'" + value + "'";
}

}  // namespace

std::string FlagNames::flag_of(const std::string& field) const {
  std::string found;
  for (const auto& [whole, flag] : flags_) {
    // In order, so that the longest, which says most, comes last.
    if (within(field, whole)) found = flag.name;
  }
  return found;
}

std::string FlagNames::shown(const FieldReference& reference) const {
  const std::string field = reference.field();
  const bool adapter = field == "adapters.path";
  auto flag = flags_.find(adapter ? "adapters" : field);
  if (flag != flags_.end() && flag->second.is_switch) {
    const bool off = reference.value == "false";
    if (off && flag->second.off.empty()) return "--set " + reference.name + "=false";
    return off ? flag->second.off : flag->second.name;
  }
  if (flag != flags_.end())
    return flag->second.name + (reference.value ? " " + quoted(*reference.value) : "");
  for (const AnyOf& each : any_of) {
    const std::string_view place = each.place;
    if (field.starts_with(place))
      return each.flag + field.substr(place.size()) + "=" + quoted(reference.value.value_or("..."));
  }
  return "";
}

std::string FlagNames::with_flags(const std::string& text) const {
  std::string out;
  size_t at = 0;
  for (const FieldReference& reference : field_references(text)) {
    const std::string flag = shown(reference);
    if (flag.empty()) continue;
    out += text.substr(at, reference.begin - at) + flag;
    at = reference.end;
  }
  return out + text.substr(at);
}

Finding FlagNames::in_flags(Finding finding) const {
  std::string flag;
  for (const auto& [field, by] : typed_) {
    // In order, so that the longest comes last.
    if (within(finding.field, field)) flag = by.empty() ? flag_of(finding.field) : by;
  }
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
