#include "io/cached_path.hpp"

#include <string_view>

#include "io/utf8.hpp"

namespace omnirt::io {

std::string cached_repository(const std::filesystem::path& path) {
  constexpr std::string_view start = "models--", between = "--";
  std::string repository;
  for (const std::filesystem::path& part : path) {
    if (part == "snapshots" && !repository.empty()) return repository;
    repository.clear();
    const std::string name = part.native();
    if (!name.starts_with(start) || find_invalid_utf8(name) != std::string::npos) continue;
    repository = name.substr(start.size());
    if (const size_t at = repository.find(between); at != std::string::npos)
      repository.replace(at, between.size(), "/");
  }
  return "";
}

std::string fix_of_file(const std::filesystem::path& path, const std::string& otherwise) {
  const std::string repository = cached_repository(path);
  return repository.empty()
             ? otherwise
             : "run `omnirt pull " + repository + "`, which fetches what is missing or damaged";
}

}  // namespace omnirt::io
