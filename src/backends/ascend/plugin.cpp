#include "backends/ascend/plugin.hpp"

#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "runtime/level.hpp"

namespace omnirt::ascend {
namespace {
namespace fs = std::filesystem;

// site-packages/torch/lib/libc10.so -> site-packages/torch_npu/lib/libtorch_npu.so
fs::path beside_libtorch() {
  Dl_info found{};
  if (!dladdr(reinterpret_cast<void*>(&c10::get_privateuse1_backend), &found)) return {};
  return fs::path(found.dli_fname).parent_path() / "../../torch_npu/lib/libtorch_npu.so";
}

std::vector<std::string> places() {
  const char* named = std::getenv("OMNIRT_ASCEND_PLUGIN");
  if (named && *named) return {named};
  return {"libtorch_npu.so", beside_libtorch().lexically_normal().string()};
}

GraphEntries graph_entries(void* library) {
  GraphEntries entries;
  auto find = [library]<class Function>(Function& entry, const char* name) {
    entry = reinterpret_cast<Function>(dlsym(library, name));
  };
  find(entries.supported, "omnirt_graph_supported");
  find(entries.create, "omnirt_graph_create");
  find(entries.begin, "omnirt_graph_begin");
  find(entries.end, "omnirt_graph_end");
  find(entries.replay, "omnirt_graph_replay");
  find(entries.destroy, "omnirt_graph_destroy");
  find(entries.error, "omnirt_graph_error");
  return entries;
}

// Python's torch_npu names the device too; the first one to run does.
void name_device() {
  if (c10::get_privateuse1_backend() == "privateuseone") c10::register_privateuse1_backend("npu");
}

// Why a library cannot be loaded. A server's clients read it too, so its folder is left out.
std::string loading_error(const std::string& place) {
  const char* error = dlerror();
  const std::string name = fs::path(place).filename().string();
  const std::string why = error ? error : place;
  return why.starts_with(place) ? name + why.substr(place.size()) : why;
}

Plugin opened(const std::string& place, void* library) {
  if (!c10::impl::hasDeviceGuardImpl(c10::kPrivateUse1))
    return {false,
            fmt::format("{} registers no device with torch", fs::path(place).filename().string()),
            0,
            {}};
  name_device();
  Plugin plugin{true, "plug-in " + place, 0, graph_entries(library)};
  plugin.devices = c10::impl::getDeviceGuardImpl(c10::kPrivateUse1)->deviceCount();
  return plugin;
}

Plugin load() {
  std::string reasons;
  for (const std::string& place : places()) {
    // Never closed: what it registered with torch stays.
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return opened(place, library);
    reasons += (reasons.empty() ? "" : "; ") + loading_error(place);
  }
  return {false, "torch's plug-in for Ascend cannot be loaded (" + reasons + ")", 0, {}};
}

}  // namespace

const Plugin& plugin() noexcept {
  static const Plugin once = [] {
    try {
      return load();
    } catch (const std::exception& error) {
      return Plugin{false, reason_of(error), 0, {}};
    }
  }();
  return once;
}

}  // namespace omnirt::ascend
