#include "request/named_files.hpp"

#include <algorithm>
#include <cctype>

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr int deepest = 8;
constexpr size_t most_entries = 100'000;  // of all folders below one

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Whether the file's name is `name`, with or without its suffix.
bool is_named(const fs::path& file, const std::string& name, Suffixes suffixes) {
  const bool same = file.filename() == name || file.stem() == name;
  return same && has_suffix(file, suffixes);
}

}  // namespace

bool has_suffix(const fs::path& file, Suffixes suffixes) {
  return std::ranges::find(suffixes, lower(file.extension().string())) != suffixes.end();
}

fs::path file_named(const fs::path& folder, const std::string& name, Suffixes suffixes) {
  std::error_code error;
  const fs::path at = folder / name;
  if (has_suffix(at, suffixes) && fs::is_regular_file(at, error)) return at;
  for (std::string_view suffix : suffixes) {
    const fs::path file = folder / (name + std::string(suffix));
    if (fs::is_regular_file(file, error)) return file;
  }
  for (const auto& entry : fs::directory_iterator(at.parent_path(), error)) {
    if (is_named(entry.path(), at.filename().string(), suffixes) && entry.is_regular_file(error))
      return entry.path();
  }
  return {};
}

std::vector<fs::path> files_named_below(const fs::path& folder, const std::string& name,
                                        Suffixes suffixes) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder,
                                         fs::directory_options::skip_permission_denied |
                                             fs::directory_options::follow_directory_symlink,
                                         error),
      end;
  for (size_t seen = 0; !error && entry != end && seen < most_entries; ++seen) {
    if (entry.depth() >= deepest) entry.disable_recursion_pending();
    std::error_code ignored;
    if (is_named(entry->path(), name, suffixes) && entry->is_regular_file(ignored))
      found.push_back(entry->path());
    entry.increment(error);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace omnirt
