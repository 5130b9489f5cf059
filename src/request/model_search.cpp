#include "request/model_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "hub/repository_cache.hpp"
#include "request/named_files.hpp"

// Where the installed package has its data: its CMake package defines this in programs that link
// the package (cmake/omnirt-config.cmake.in); null elsewhere.
extern "C" __attribute__((weak)) const char* omnirt_data_folder();

namespace omnirt {
namespace fs = std::filesystem;
namespace {

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

// The models that belong to the program in `folder`: PREFIX/share/omnirt/models of an installed
// PREFIX/bin, and models/ of the checkout whose build tree is build/<name>. Nowhere else: a folder
// further up may be shared, and anyone may put a model there.
std::vector<fs::path> beside_program(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> candidates;
  if (folder.filename() == "bin")
    candidates.push_back(folder.parent_path() / "share" / "omnirt" / "models");
  constexpr int deepest = 2;  // build/<name>/omnirt, and build/<name>/tests/test_<layer>
  fs::path tree = folder;
  for (int up = 0; up < deepest; ++up, tree = tree.parent_path()) {
    if (!fs::is_regular_file(tree / "CMakeCache.txt", error)) continue;
    candidates.push_back(tree.parent_path().parent_path() / "models");
    break;
  }
  std::erase_if(candidates, [&](const fs::path& each) { return !fs::is_directory(each, error); });
  return candidates;
}

}  // namespace

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders = from_environment();
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path& each : beside_program(program.parent_path())) folders.push_back(std::move(each));
  fs::path installed = omnirt_data_folder ? fs::path(omnirt_data_folder()) / "models" : "";
  if (fs::is_directory(installed, error) && std::ranges::find(folders, installed) == folders.end())
    folders.push_back(installed);
  return folders;
}

fs::path single_file_tokenizer() {
  constexpr const char* tokenizer_data = "tokenizers/clip-l";
  std::error_code error;
  for (const fs::path& folder : model_folders()) {
    if (fs::is_regular_file(folder / tokenizer_data / "vocab.json", error))
      return folder / tokenizer_data;
  }
  return {};
}

namespace {

// Where models of one file are in a folder of models; A1111's and ComfyUI's, too. The last ones are
// those of upscalers.
constexpr std::array checkpoint_folders{
    "",          "checkpoints",    "Stable-diffusion", "diffusion_models",
    "upscalers", "upscale_models", "ESRGAN",           "RealESRGAN"};
constexpr auto upscaler_folders = std::span(checkpoint_folders).last<4>();

constexpr Suffixes weight_suffixes{safetensors_suffix, gguf_suffix};

// A model of one file; empty where there is none.
fs::path checkpoint_in(const fs::path& folder, const std::string& id) {
  for (const char* below : checkpoint_folders) {
    const fs::path file = file_named(folder / below, id, weight_suffixes);
    if (!file.empty()) return file.lexically_normal();
  }
  return {};
}

}  // namespace

std::vector<FoundModel> models_here() {
  std::vector<FoundModel> found;
  std::error_code error;
  for (const fs::path& folder : model_folders()) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_pipeline_folder(entry.path()))
        found.push_back({entry.path().filename().string(), entry.path()});
    }
    for (const char* below : checkpoint_folders) {
      for (const auto& entry : fs::directory_iterator(folder / below, error)) {
        if (has_suffix(entry.path(), weight_suffixes) && entry.is_regular_file(error))
          found.push_back({entry.path().stem().string(), entry.path().lexically_normal()});
      }
    }
  }
  std::ranges::sort(found, {}, &FoundModel::name);
  return found;
}

fs::path find_model(const std::string& id, const std::vector<std::string>& hub_ids) {
  bool plain = id.find("..") == std::string::npos && !id.empty() && id.front() != '/';
  for (const fs::path& folder : model_folders()) {
    if (plain && is_pipeline_folder(folder / id)) return folder / id;
    fs::path file = plain ? checkpoint_in(folder, id) : fs::path();
    if (!file.empty()) return file;
  }
  std::vector<std::string> names = hub_ids;
  names.push_back(id);
  for (const std::string& name : names) {
    fs::path cached = hub::find_snapshot(name);
    if (!cached.empty()) return cached;
  }
  return {};
}

PipelineFolder open_pipeline_folder(const fs::path& path) {
  return read_pipeline_folder(path, hub::find_snapshot);
}

namespace {

// "organisation/name" or "organisation/name/file.safetensors" in the cache; empty where it is not.
fs::path adapter_in_cache(const std::string& given) {
  size_t first = given.find('/');
  size_t second = first == given.npos ? given.npos : given.find('/', first + 1);
  fs::path cached = hub::find_snapshot(given.substr(0, second));
  if (cached.empty() || second == given.npos) return cached;
  std::error_code error;
  fs::path file = cached / given.substr(second + 1);
  return fs::exists(file, error) ? file : fs::path();
}

}  // namespace

namespace {

constexpr std::array adapter_folders{"", "loras", "Lora", "embeddings"};

// A file or folder of an adapter in one of the model folders; below those for adapters also in
// folders of any name, where only one has the name.
fs::path adapter_in(const fs::path& folder, const std::string& given, const std::string& field) {
  std::error_code error;
  for (const fs::path below : adapter_folders) {
    if (fs::exists(folder / below / given, error)) return folder / below / given;
    const fs::path file = file_named(folder / below, given, {safetensors_suffix});
    if (!file.empty()) return file;
  }
  for (const fs::path below : std::span(adapter_folders).subspan<1>()) {
    const auto found = files_named_below(folder / below, given, {safetensors_suffix});
    if (found.size() == 1) return found.front();
    if (found.empty()) continue;
    throw InvalidRequest(
        {field, given,
         fmt::format("{} files have this name: {}, {}{}", found.size(), path_text(found[0]),
                     path_text(found[1]), found.size() > 2 ? ", ..." : ""),
         "name one with its folder"});
  }
  return {};
}

}  // namespace

fs::path find_adapter(const std::string& given, const fs::path& at, const std::string& field) {
  std::error_code error;
  if (fs::exists(at, error)) return at;
  std::vector<std::string> places;
  if (!at.empty()) places.push_back(path_text(at));
  bool plain = !given.empty() && given.find("..") == given.npos && given.front() != '/';
  for (const fs::path& folder : plain ? model_folders() : std::vector<fs::path>{}) {
    const fs::path found = adapter_in(folder, given, field);
    if (!found.empty()) return found;
    places.push_back(path_text(folder) + " and its loras, Lora and embeddings");
  }
  fs::path cached = plain ? adapter_in_cache(given) : fs::path();
  if (!cached.empty()) return cached;
  throw InvalidRequest(
      {field, given,
       fmt::format("there is no such adapter (looked {}{}{})", places.empty() ? "" : "at ",
                   fmt::join(places, ", "), plain ? " and in the Hugging Face cache" : ""),
       "name a file, a folder, or an id below a folder in OMNIRT_MODELS"});
}

fs::path find_upscaler(const std::string& given, const fs::path& at, const std::string& field) {
  std::error_code error;
  if (fs::exists(at, error)) return at;
  bool plain = !given.empty() && given.find("..") == given.npos && given.front() != '/';
  for (const fs::path& folder : plain ? model_folders() : std::vector<fs::path>{}) {
    for (const char* below : upscaler_folders) {
      const fs::path file = file_named(folder / below, given, {safetensors_suffix});
      if (!file.empty()) return file;
    }
  }
  throw InvalidRequest(
      {field, given,
       at.empty() ? "there is no such upscaler"
                  : fmt::format("there is no such upscaler (looked at {})", path_text(at)),
       fmt::format("name a .safetensors file, or one in {} below a folder in OMNIRT_MODELS",
                   fmt::join(upscaler_folders, ", "))});
}

bool looks_like_path(const std::string& model, const fs::path& at) {
  std::error_code error;
  return model.starts_with("/") || model.starts_with(".") || model.starts_with("~") ||
         fs::exists(at, error);
}

}  // namespace omnirt
