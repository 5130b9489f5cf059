#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "serve/multipart.hpp"

namespace omnirt::serve {

inline constexpr size_t max_adapter_name_bytes = 100;
inline constexpr size_t max_adapter_config_bytes = size_t{1} << 20;

// An adapter as it is sent: a form with `name`, `file` (safetensors) and, of a ControlNet, `config`
// (its config.json). What it holds looks into the body.
struct AdapterUpload {
  std::string name;
  std::string_view file;
  std::string_view config;  // "": none
  bool is_controlnet() const { return !config.empty(); }
};

// Letters, digits, "-", "_" and "." within: what may be an adapter's name, and a file's.
bool is_adapter_name(std::string_view name);
// The same as a regular expression of JSON Schema.
inline constexpr const char* adapter_name_pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$";

// Reads the form, and the file's header under the limits of io/safetensors; nothing is written.
// Throws InvalidRequest with all that is wrong, InvalidFile of a file that is no safetensors.
AdapterUpload read_adapter_upload(std::string_view content_type, std::string_view body);

}  // namespace omnirt::serve
