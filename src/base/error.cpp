#include "base/error.hpp"

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
  std::string text;
  for (unsigned char byte : value.substr(0, limit)) {
    text += byte < 0x20 || byte == 0x7f ? '?' : static_cast<char>(byte);
  }
  if (value.size() <= limit) return text;
  // Never end inside a UTF-8 sequence.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
  return text + "...";
}

}  // namespace

std::string Finding::text() const {
  std::string text = field;
  if (!value.empty()) text += (text.empty() ? "" : " = ") + shown(value);
  if (!text.empty()) text += ": ";
  text += message;
  if (!way_out.empty()) text += "; " + way_out;
  return text;
}

InvalidRequest::InvalidRequest(std::string kind, std::vector<Finding> findings)
    : Error(std::move(kind), join(findings), 2), findings_(std::move(findings)) {}

InvalidRequest::InvalidRequest(std::vector<Finding> findings)
    : InvalidRequest("InvalidRequest", std::move(findings)) {}

InvalidRequest::InvalidRequest(Finding finding)
    : InvalidRequest("InvalidRequest", std::vector<Finding>{std::move(finding)}) {}

}  // namespace omnirt
