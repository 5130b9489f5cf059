#include "base/device_id.hpp"

#include <charconv>

namespace omnirt {
namespace {

constexpr size_t most_digits = 3;

}  // namespace

std::string DeviceId::text() const {
  return backend + ":" + std::to_string(index);
}

std::optional<DeviceId> parse_device_id(std::string_view text) {
  const size_t colon = text.find(':');
  DeviceId device{std::string(text.substr(0, colon))};
  if (device.backend.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return device;
  const std::string_view digits = text.substr(colon + 1);
  if (digits.empty() || digits.size() > most_digits ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  return device;
}

}  // namespace omnirt
