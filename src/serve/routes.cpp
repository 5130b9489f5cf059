#include "serve/routes.hpp"

namespace omnirt::serve {
namespace {

bool is_name(std::string_view part) {
  return part.size() > 2 && part.front() == '{' && part.back() == '}';
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t slash = 0; slash != std::string_view::npos;) {
    slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return parts;
}

}  // namespace

std::optional<std::vector<std::string>> values_of(std::string_view form, std::string_view path) {
  const std::vector<std::string_view> wanted = parts_of(form), given = parts_of(path);
  std::vector<std::string> values;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i >= given.size()) return std::nullopt;
    if (!is_name(wanted[i])) {
      if (wanted[i] != given[i]) return std::nullopt;
      continue;
    }
    const bool takes_rest = i + 1 == wanted.size();
    const auto at = static_cast<size_t>(given[i].data() - path.data());
    values.emplace_back(takes_rest ? path.substr(at) : given[i]);
    if (values.back().empty()) return std::nullopt;
    if (takes_rest) return values;
  }
  return wanted.size() == given.size() ? std::optional(values) : std::nullopt;
}

std::vector<std::string> names_of_path(std::string_view form) {
  std::vector<std::string> names;
  for (std::string_view part : parts_of(form)) {
    if (is_name(part)) names.emplace_back(part.substr(1, part.size() - 2));
  }
  return names;
}

}  // namespace omnirt::serve
