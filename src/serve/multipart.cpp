#include "serve/multipart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"

namespace omnirt::serve {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw InvalidRequest({"body", "multipart/form-data", message, "send it as RFC 7578 has it"});
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return made;
}

// The value of `name` among "; name=value" or "; name="value"" parameters; "" without.
std::string parameter(std::string_view text, std::string_view name) {
  const std::string all = lower(text), sought = std::string(name) + "=";
  for (size_t at = all.find(sought); at != std::string::npos; at = all.find(sought, at + 1)) {
    if (at > 0 && all[at - 1] != ' ' && all[at - 1] != ';' && all[at - 1] != '\t') continue;
    std::string_view rest = text.substr(at + sought.size());
    if (!rest.empty() && rest.front() == '"') {
      rest.remove_prefix(1);
      const size_t end = rest.find('"');
      return end == std::string_view::npos ? "" : std::string(rest.substr(0, end));
    }
    return std::string(rest.substr(0, rest.find_first_of("; \t")));
  }
  return "";
}

// The name of a part by the lines that stand before it.
std::string name_of_part(std::string_view header) {
  while (!header.empty()) {
    const size_t end = header.find("\r\n");
    const std::string_view line = header.substr(0, end);
    if (lower(line.substr(0, 20)) == "content-disposition:") {
      const std::string name = parameter(line, "name");
      if (!name.empty()) return name;
    }
    if (end == std::string_view::npos) break;
    header.remove_prefix(end + 2);
  }
  refuse("a part has no name");
}

// Reads one part from the front of `rest`, which begins behind its boundary; takes it and the next
// boundary off.
Part take_part(std::string_view& rest, const std::string& delimiter) {
  if (!rest.starts_with("\r\n")) refuse("a boundary is not followed by a line end");
  rest.remove_prefix(2);
  const size_t blank = rest.substr(0, max_part_header_bytes).find("\r\n\r\n");
  if (blank == std::string_view::npos)
    refuse(fmt::format("a part's header does not end within {} bytes", max_part_header_bytes));
  Part part{name_of_part(rest.substr(0, blank)), {}};
  rest.remove_prefix(blank + 4);
  const size_t end = rest.find("\r\n" + delimiter);
  if (end == std::string_view::npos) refuse("it is cut short");
  part.bytes = rest.substr(0, end);
  rest.remove_prefix(end + 2 + delimiter.size());
  return part;
}

}  // namespace

std::string media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return lower(type);
}

std::string boundary_of(std::string_view content_type) {
  std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > 70) refuse("it has no boundary of 1 to 70 characters");
  return boundary;
}

std::vector<Part> read_multipart(std::string_view body, std::string_view boundary,
                                 std::string_view repeated) {
  const std::string delimiter = "--" + std::string(boundary);
  size_t begin = 0;
  if (!body.starts_with(delimiter)) {
    begin = body.find("\r\n" + delimiter);
    if (begin == std::string_view::npos) refuse("its boundary is not in it");
    begin += 2;
  }
  std::string_view rest = body.substr(begin + delimiter.size());
  std::vector<Part> parts;
  while (!rest.starts_with("--")) {
    if (parts.size() == max_parts) refuse(fmt::format("it has more than {} parts", max_parts));
    Part part = take_part(rest, delimiter);
    for (const Part& other : parts) {
      if (other.name == part.name && part.name != repeated && !part.name.ends_with("[]"))
        refuse("two parts have one name");
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace omnirt::serve
