#include "base/error.hpp"

#include "base/printable.hpp"

namespace omnirt {
namespace {

std::string join(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += '\n';
    text += finding.text();
  }
  return text;
}

// A value from outside may be huge or hold control characters; an error shows its beginning,
// printable.
std::string shown(const std::string& value) {
  constexpr size_t limit = 120;
  if (value.size() <= limit) return printable(value);
  size_t end = limit;
  // Never end inside a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80) --end;
  return printable(std::string_view(value).substr(0, end)) + "...";
}

// A fix may list names, each in an indented line of its own; other line breaks are not kept.
std::string printable_list(std::string_view text) {
  constexpr std::string_view item = "\n  ";
  std::string list;
  for (size_t to = text.find(item); to != text.npos; to = text.find(item)) {
    list += printable(text.substr(0, to)) + std::string(item);
    text.remove_prefix(to + item.size());
  }
  return list + printable(text);
}

// A file's reader knows what is wrong and mostly not why; the fixes are the same for all of
// them.
std::vector<Finding> with_ways_out(const std::string& kind, std::vector<Finding> findings) {
  const char* usual = kind == "InvalidFile" ? "download or copy the file again, or give another"
                      : kind == "WeightMismatch"
                          ? "take the weights and the config.json of the same model"
                          : "";
  for (Finding& finding : findings) {
    if (finding.way_out.empty()) finding.way_out = usual;
  }
  return findings;
}

}  // namespace

// Fields and messages hold names from files as well: nothing of them may steer a terminal.
std::string Finding::text() const {
  std::string text = printable(field);
  if (!value.empty()) text += (text.empty() ? "" : " = ") + shown(value);
  if (!text.empty()) text += ": ";
  text += printable(message);
  if (!way_out.empty()) text += "; " + printable_list(way_out);
  return text;
}

InvalidRequest::InvalidRequest(std::string kind, std::vector<Finding> findings)
    : Error(kind, join(with_ways_out(kind, findings)), 2),
      findings_(with_ways_out(kind, std::move(findings))) {}

InvalidRequest::InvalidRequest(std::vector<Finding> findings)
    : InvalidRequest("InvalidRequest", std::move(findings)) {}

InvalidRequest::InvalidRequest(Finding finding)
    : InvalidRequest("InvalidRequest", std::vector<Finding>{std::move(finding)}) {}

}  // namespace omnirt
