#include "base/path_text.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace omnirt {
namespace fs = std::filesystem;
namespace {

struct Book {
  std::mutex mutex;
  std::vector<const std::multimap<fs::path, std::string>*> all;
};

Book& book() {
  static Book made;
  return made;
}

fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

// Files may be named by the folder as it was given, or by the folder that its links lead to.
std::vector<fs::path> forms_of(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> forms{without_slash(fs::absolute(path, error))};
  const fs::path real = without_slash(fs::weakly_canonical(path, error));
  if (!error && real != forms.front()) forms.push_back(real);
  return forms;
}

// What `path` is called as `folder` or inside it; "" outside of it.
std::string within(const fs::path& path, const fs::path& folder, const std::string& name) {
  const auto [rest, end] = std::ranges::mismatch(path, folder);
  if (end != folder.end()) return "";
  fs::path text = name;
  for (auto it = rest; it != path.end(); ++it) text /= *it;
  return text.native();
}

}  // namespace

std::string path_text(const fs::path& path) {
  std::scoped_lock lock(book().mutex);
  if (book().all.empty()) return path.native();
  std::error_code error;
  const fs::path whole = without_slash(fs::absolute(path, error));
  std::string text;
  size_t longest = 0;
  for (const auto* names : book().all) {
    for (const auto& [folder, name] : *names) {
      const size_t length = folder.native().size();
      std::string found = length > longest ? within(whole, folder, name) : "";
      if (found.empty()) continue;
      text = std::move(found);
      longest = length;
    }
  }
  return text.empty() ? whole.filename().native() : text;
}

PathNames::PathNames(const std::map<fs::path, std::string>& names) {
  for (const auto& [path, name] : names) {
    for (fs::path& form : forms_of(path)) names_.emplace(std::move(form), name);
  }
  std::scoped_lock lock(book().mutex);
  book().all.push_back(&names_);
}

PathNames::~PathNames() {
  std::scoped_lock lock(book().mutex);
  std::erase(book().all, &names_);
}

}  // namespace omnirt
