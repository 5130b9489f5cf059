#include "pipeline/model_search.hpp"

#include <cstdlib>

#include "weights/pipeline_folder.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

bool has_index(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "model_index.json", error);
}

std::vector<fs::path> from_environment() {
  std::vector<fs::path> folders;
  const char* value = std::getenv("OMNIRT_MODELS");
  std::string list = value ? value : "", item;
  for (char c : list + ":") {
    if (c != ':') {
      item += c;
      continue;
    }
    if (!item.empty()) folders.emplace_back(item);
    item.clear();
  }
  return folders;
}

}  // namespace

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders = from_environment();
  std::error_code error;
  fs::path at = fs::read_symlink("/proc/self/exe", error).parent_path();
  // build/release/omnirt stands two folders below the project's models; an installed bin/omnirt one
  // below share.
  for (int up = 0; up < 4 && !at.empty(); ++up, at = at.parent_path()) {
    for (const fs::path& candidate : {at / "models", at / "share" / "omnirt" / "models"}) {
      if (fs::is_directory(candidate, error)) folders.push_back(candidate);
    }
    if (at == at.root_path()) break;
  }
  return folders;
}

fs::path find_model(const std::string& id, const std::vector<std::string>& hub_ids) {
  bool plain = id.find("..") == std::string::npos && !id.empty() && id.front() != '/';
  for (const fs::path& folder : model_folders()) {
    if (plain && has_index(folder / id)) return folder / id;
  }
  std::vector<std::string> names = hub_ids;
  names.push_back(id);
  for (const std::string& name : names) {
    fs::path cached = find_in_hub_cache(name);
    if (!cached.empty()) return cached;
  }
  return {};
}

bool looks_like_path(const std::string& model) {
  std::error_code error;
  return model.starts_with("/") || model.starts_with(".") || model.starts_with("~") ||
         fs::exists(model, error);
}

}  // namespace omnirt
