#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace omnirt {

// A backend as the catalogue lists it. The list's order is the order in which `auto` looks.
struct BackendInfo {
  std::string name;
  // The backend of one of its devices; empty where it is not built in.
  std::function<std::unique_ptr<Backend>(int index)> make;
  Availability absent{};  // why it is not built in, and the fix
  bool automatic = true;  // `auto` may choose it
};

struct PassedOver {
  std::string name;
  std::string reason;
};

// Which device serves a request, and why the backends before its own do not.
struct Resolution {
  DeviceId device{};
  std::string reason;  // what was found
  std::vector<PassedOver> passed_over;
};

// Whether a device of a listed backend can be used here; never throws.
Availability availability(const BackendInfo& info, int index = 0) noexcept;
// How many devices an available backend has.
int device_count(const BackendInfo& info);
// The backend of a device that resolve_device() returned.
std::unique_ptr<Backend> make_backend(const std::vector<BackendInfo>& all, const DeviceId& device);
// `wanted` is a device ("cuda:1"; "cuda": its first), or "auto" (or ""): the first device of the
// first available backend that `auto` may choose. Throws Unsupported on `field`, with what is
// missing and the fix, where there is none.
Resolution resolve_device(const std::vector<BackendInfo>& all, const std::string& wanted,
                          const std::string& field = "backend");

}  // namespace omnirt
