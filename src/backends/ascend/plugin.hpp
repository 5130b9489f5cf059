#pragma once
#include <string>

namespace omnirt::ascend {

// C entry points by which a plug-in offers graph mode; all of them, or none. torch_npu's own graph
// class has a C++ interface without a stable ABI, so graph mode comes through a library that
// exports these (and links to torch_npu). Functions that return int return 0 on success.
struct GraphEntries {
  int (*supported)() = nullptr;  // omnirt_graph_supported: 1 where the device has graph mode
  void* (*create)(int device) = nullptr;   // omnirt_graph_create: null when it failed
  int (*begin)(void* graph) = nullptr;     // omnirt_graph_begin
  int (*end)(void* graph) = nullptr;       // omnirt_graph_end
  int (*replay)(void* graph) = nullptr;    // omnirt_graph_replay
  void (*destroy)(void* graph) = nullptr;  // omnirt_graph_destroy
  const char* (*error)() = nullptr;        // omnirt_graph_error: what went wrong last
  bool complete() const {
    return supported && create && begin && end && replay && destroy && error;
  }
};

// torch's plug-in for Ascend devices as it was found on this machine.
struct Plugin {
  bool loaded = false;
  std::string reason;  // where it was found, or what is missing
  int devices = 0;
  GraphEntries graph;
};

// Loads the plug-in when first asked, once per process: the library that OMNIRT_ASCEND_PLUGIN
// names, else libtorch_npu.so as the system finds it, else the one installed next to libtorch.
// Loading it registers its device with ATen. If a library cannot be loaded, or registers no device,
// `reason` says so.
const Plugin& plugin() noexcept;

}  // namespace omnirt::ascend
