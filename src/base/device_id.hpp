#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace omnirt {

// One device of a backend.
struct DeviceId {
  std::string backend;
  int index = 0;
  bool operator==(const DeviceId&) const = default;
  bool operator<(const DeviceId& other) const {
    return std::tie(backend, index) < std::tie(other.backend, other.index);
  }
  std::string text() const;  // "cuda:1"
};

// "cuda:1", or "cuda" for the first device. Empty if `text` is neither.
std::optional<DeviceId> parse_device_id(std::string_view text);

}  // namespace omnirt
