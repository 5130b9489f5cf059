#include "runtime/resolve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/ensure.hpp"
#include "base/nearest.hpp"

namespace omnirt {

Availability availability(const BackendInfo& info, int index) noexcept {
  try {
    return info.make ? info.make(index)->is_available() : info.absent;
  } catch (const std::exception& error) {
    return {false, reason_of(error), ""};
  }
}

int device_count(const BackendInfo& info) {
  return info.make ? info.make(0)->device_count() : 0;
}

std::unique_ptr<Backend> make_backend(const std::vector<BackendInfo>& all, const DeviceId& device) {
  auto info = std::ranges::find(all, device.backend, &BackendInfo::name);
  ensure(info != all.end() && info->make, "backend '{}' was chosen, but is not in the catalogue",
         device.backend);
  return info->make(device.index);
}

namespace {

// A device by the word that another program has for it.
struct OtherDevice {
  std::string_view word;
  std::string_view backend;  // ours for it; "": there is none
};

constexpr OtherDevice other_devices[] = {
    {"gpu", "cuda"},    {"nvidia", "cuda"}, {"tensorrt", "cuda"}, {"npu", "ascend"},
    {"cann", "ascend"}, {"x86", "cpu"},     {"openmp", "cpu"},    {"amd", ""},
    {"rocm", ""},       {"hip", ""},        {"mps", ""},          {"metal", ""},
    {"coreml", ""},     {"xpu", ""},        {"intel", ""},        {"sycl", ""},
    {"openvino", ""},   {"directml", ""},   {"dml", ""},          {"privateuseone", ""},
    {"vulkan", ""},     {"opencl", ""},     {"tpu", ""},          {"xla", ""},
    {"onnx", ""},       {"meta", ""}};

// The backend that an unknown name means; "" where none is near.
std::string meant_backend(std::string_view wanted, const std::vector<std::string>& names) {
  std::string word(wanted.substr(0, wanted.find(':')));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(names, word) != names.end()) return word;
  const auto* other = std::ranges::find(other_devices, word, &OtherDevice::word);
  if (other == std::end(other_devices)) return nearest_name(word, names);
  bool here = std::ranges::find(names, other->backend) != names.end();
  return here ? std::string(other->backend) : "";
}

using Backends = std::vector<BackendInfo>;

Unsupported unknown_backend(const Backends& all, const std::string& wanted,
                            const std::string& field) {
  std::vector<std::string> names{"auto"};
  for (const BackendInfo& each : all) names.push_back(each.name);
  std::string meant = meant_backend(wanted, names);
  std::string question = meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant);
  return Unsupported({field, wanted, "there is no such backend",
                      fmt::format("{}there are {}, and `omnirt backends` says which can be used "
                                  "here",
                                  question, fmt::join(names, ", "))});
}

Unsupported unknown_index(const DeviceId& device, int count, const std::string& wanted,
                          const std::string& field) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(DeviceId{device.backend, i}.text());
  return Unsupported({field, wanted,
                      fmt::format("there is no such device: backend {} has {} on this machine",
                                  device.backend, count),
                      fmt::format("give {}", fmt::join(names, " or "))});
}

Resolution by_name(const Backends& all, const std::string& wanted, const std::string& field) {
  const std::optional<DeviceId> device = parse_device_id(wanted);
  auto info = device ? std::ranges::find(all, device->backend, &BackendInfo::name) : all.end();
  if (info == all.end()) {
    auto named = std::ranges::find(all, wanted.substr(0, wanted.find(':')), &BackendInfo::name);
    if (named == all.end()) throw unknown_backend(all, wanted, field);
    throw Unsupported({field, wanted, "not the index of a device",
                       fmt::format("give a number from 0, as in {}:0", named->name)});
  }
  const Availability found = availability(*info);
  if (!found.available) {
    std::string otherwise = "use auto, or one that `omnirt backends` shows as available";
    throw Unsupported({field, wanted, "not available: " + found.reason,
                       found.way_out.empty() ? otherwise : found.way_out + ", or " + otherwise});
  }
  const int count = device_count(*info);
  if (device->index >= count) throw unknown_index(*device, count, wanted, field);
  return {*device, found.reason, {}};
}

}  // namespace

Resolution resolve_device(const Backends& all, const std::string& wanted,
                          const std::string& field) {
  if (!wanted.empty() && wanted != "auto") return by_name(all, wanted, field);
  Resolution resolution;
  std::string reasons;
  for (const BackendInfo& info : all) {
    if (!info.automatic) continue;
    Availability found = availability(info);
    if (found.available) {
      resolution.device = {info.name, 0};
      resolution.reason = found.reason;
      return resolution;
    }
    resolution.passed_over.push_back({info.name, found.reason});
    reasons += fmt::format("; {}: {}", info.name, found.reason);
  }
  throw Unsupported(
      {field, "auto", "none is available" + reasons, "name one of them after setting it up"});
}

}  // namespace omnirt
