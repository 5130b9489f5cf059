#include "engine/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/path_text.hpp"
#include "io/mapped_file.hpp"
#include "pipeline/plugin.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr const char* build_again =
    "build it again against this omnirt's headers and libtorch (docs/blocks.md)";

[[noreturn]] void refuse(const fs::path& file, std::string message, std::string way_out = "") {
  throw InvalidRequest({"plugin", path_text(file), std::move(message), std::move(way_out)});
}

std::string without_marker(std::string_view abi) {
  return std::string(abi.substr(abi.find(':') + 1));
}

[[noreturn]] void refuse_abi(const fs::path& file, std::string_view found) {
  refuse(file,
         fmt::format("made for {}; this program is {}", without_marker(found),
                     without_marker(plugin_abi)),
         build_again);
}

// Looks for the marker in the file: code of a library that does not fit must not run.
void check_marker(const fs::path& file) {
  auto mapped = io::MappedFile::open(file);
  std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()),
                         mapped->bytes().size());
  std::string_view expected = plugin_abi;
  std::string_view marker = expected.substr(0, expected.find(':') + 1);
  constexpr size_t longest = 512;
  size_t first = bytes.find(marker);
  if (first == std::string_view::npos) {
    refuse(file, "not a plug-in of omnirt",
           "give a shared library that defines omnirt_plugin() (docs/blocks.md)");
  }
  std::string_view found = bytes.substr(first, longest);
  found = found.substr(0, found.find('\0'));
  if (found != expected) refuse_abi(file, found);
}

void* open_library(const fs::path& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library) return library;
  const char* why = dlerror();
  refuse(file, fmt::format("could not be loaded: {}", why ? why : "no reason given"),
         "a missing symbol of omnirt means that it needs another version: build it again; one of "
         "another library, that it must be linked to it");
}

Plugin read_plugin(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    refuse(file, "there is no such file", "give the path of a shared library");
  fs::path absolute = fs::absolute(file);
  check_marker(absolute);
  auto* entry = reinterpret_cast<Plugin (*)()>(dlsym(open_library(absolute), "omnirt_plugin"));
  if (!entry) {
    refuse(file, "it exports no omnirt_plugin()",
           "define extern \"C\" omnirt::Plugin omnirt_plugin(), with default visibility");
  }
  Plugin plugin = entry();
  if (!plugin.abi || std::strcmp(plugin.abi, plugin_abi) != 0)
    refuse_abi(file, plugin.abi ? plugin.abi : ":nothing");
  if (!plugin.name || !plugin.add) refuse(file, "its omnirt_plugin() names no add function");
  return plugin;
}

}  // namespace

void load_plugin(Catalogue& catalogue, const fs::path& file) {
  Plugin plugin = read_plugin(file);
  Catalogue edited = catalogue;
  std::vector<Finding> findings;
  try {
    plugin.add(edited);
    findings = check_catalogue(edited);
  } catch (const InvalidRequest& thrown) {
    findings = thrown.findings();
  } catch (const std::exception& thrown) {
    refuse(file, fmt::format("plug-in '{}' failed: {}", plugin.name, thrown.what()));
  }
  for (Finding& finding : findings)
    finding.field = fmt::format("plugin {}: {}", plugin.name, finding.field);
  if (!findings.empty()) throw InvalidRequest(std::move(findings));
  catalogue = std::move(edited);
}

std::vector<fs::path> plugins_of_environment() {
  std::vector<fs::path> files;
  const char* value = std::getenv("OMNIRT_PLUGINS");
  std::istringstream list(value ? value : "");
  for (std::string file; std::getline(list, file, ':');) {
    if (!file.empty()) files.emplace_back(file);
  }
  return files;
}

}  // namespace omnirt
