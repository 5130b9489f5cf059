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
  std::function<std::unique_ptr<Backend>()> make;  // empty where it is not built in
  Availability absent{};                           // why it is not built in, and the fix
  bool automatic = true;                           // `auto` may choose it
};

struct PassedOver {
  std::string name;
  std::string reason;
};

// Which backend serves a request, and why those before it do not.
struct Resolution {
  const BackendInfo* backend = nullptr;
  std::string reason;  // what was found
  std::vector<PassedOver> passed_over;
};

// Whether a listed backend can be used here; never throws.
Availability availability(const BackendInfo& info) noexcept;
// `wanted` is a name, or "auto" (or ""): the first available of those that `auto` may choose.
// Throws Unsupported on the field `backend`, with what is missing and the fix, where there is
// none.
Resolution resolve_backend(const std::vector<BackendInfo>& all, const std::string& wanted);

}  // namespace omnirt
