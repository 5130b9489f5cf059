#include "runtime/resolve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/nearest.hpp"

namespace omnirt {

Availability availability(const BackendInfo& info) noexcept {
  try {
    return info.make ? info.make()->is_available() : info.absent;
  } catch (const std::exception& error) {
    return {false, reason_of(error), ""};
  }
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
  // As torch numbers devices: "cuda:0".
  std::string word(wanted.substr(0, wanted.find(':')));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(names, word) != names.end()) return word;
  const auto* other = std::ranges::find(other_devices, word, &OtherDevice::word);
  if (other == std::end(other_devices)) return nearest_name(word, names);
  bool here = std::ranges::find(names, other->backend) != names.end();
  return here ? std::string(other->backend) : "";
}

Unsupported unknown_backend(const std::vector<BackendInfo>& all, const std::string& wanted) {
  std::vector<std::string> names{"auto"};
  for (const BackendInfo& each : all) names.push_back(each.name);
  std::string meant = meant_backend(wanted, names);
  std::string question = meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant);
  return Unsupported({"backend", wanted, "there is no such backend",
                      fmt::format("{}there are {}, and `omnirt backends` says which can be used "
                                  "here",
                                  question, fmt::join(names, ", "))});
}

Resolution by_name(const std::vector<BackendInfo>& all, const std::string& wanted) {
  auto info = std::ranges::find(all, wanted, &BackendInfo::name);
  if (info == all.end()) throw unknown_backend(all, wanted);
  Availability found = availability(*info);
  if (found.available) return {&*info, found.reason, {}};
  std::string otherwise = "use auto, or one that `omnirt backends` shows as available";
  throw Unsupported({"backend", wanted, "not available: " + found.reason,
                     found.way_out.empty() ? otherwise : found.way_out + ", or " + otherwise});
}

}  // namespace

Resolution resolve_backend(const std::vector<BackendInfo>& all, const std::string& wanted) {
  if (!wanted.empty() && wanted != "auto") return by_name(all, wanted);
  Resolution resolution;
  std::string reasons;
  for (const BackendInfo& info : all) {
    if (!info.automatic) continue;
    Availability found = availability(info);
    if (found.available) {
      resolution.backend = &info;
      resolution.reason = found.reason;
      return resolution;
    }
    resolution.passed_over.push_back({info.name, found.reason});
    reasons += fmt::format("; {}: {}", info.name, found.reason);
  }
  throw Unsupported(
      {"backend", "auto", "none is available" + reasons, "name one of them after setting it up"});
}

}  // namespace omnirt
