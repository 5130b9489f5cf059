#include "serve/adapter_upload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/safetensors.hpp"
#include "io/sniff.hpp"

namespace omnirt::serve {
namespace {

constexpr const char* how = "send a form with name, file and, of a ControlNet, config";

bool is_letter_or_digit(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9');
}

bool is_pickle(std::string_view bytes) {
  return io::sniff(std::as_bytes(std::span(bytes))).way_out == io::pickle_way_out();
}

void check_name(const std::string& name, std::vector<Finding>& findings) {
  if (is_adapter_name(name)) return;
  findings.push_back(
      {"name", name.substr(0, max_adapter_name_bytes), "is no name of an adapter",
       fmt::format("give 1 to {} letters, digits, -, _ or ., beginning with a letter or digit",
                   max_adapter_name_bytes)});
}

void check_file(std::string_view file, std::vector<Finding>& findings) {
  if (file.empty()) {
    findings.push_back({"file", "", "is missing", how});
  } else if (is_pickle(file)) {
    findings.push_back(
        {"file", "", "is a pickle, which can hold code", std::string(io::pickle_way_out())});
  } else {
    try {
      io::SafetensorsHeader::parse(std::as_bytes(std::span(file)), file.size(), "file");
    } catch (const InvalidRequest& error) {
      findings.insert(findings.end(), error.findings().begin(), error.findings().end());
    }
  }
}

// Its class, by which the engine finds the network: `_class_name` with ControlNet in it.
void check_config(std::string_view text, std::vector<Finding>& findings) {
  if (text.size() > max_adapter_config_bytes) {
    findings.push_back({"config", fmt::format("{} bytes", text.size()), "is too long",
                        fmt::format("send at most {} bytes", max_adapter_config_bytes)});
    return;
  }
  try {
    const Json json = parse_json(text, "config", max_adapter_config_bytes);
    const Json named = json.is_object() ? json.value("_class_name", Json()) : Json();
    if (named.is_string() && named.get<std::string>().find("ControlNet") != std::string::npos)
      return;
    findings.push_back({"config._class_name", shown(named), "is no ControlNet",
                        "send a ControlNet's config.json, or a LoRA without config"});
  } catch (const InvalidRequest& error) {
    findings.insert(findings.end(), error.findings().begin(), error.findings().end());
  }
}

}  // namespace

bool is_adapter_name(std::string_view name) {
  if (name.empty() || name.size() > max_adapter_name_bytes) return false;
  return is_letter_or_digit(name.front()) && std::all_of(name.begin(), name.end(), [](char each) {
           return is_letter_or_digit(each) || each == '-' || each == '_' || each == '.';
         });
}

AdapterUpload read_adapter_upload(std::string_view content_type, std::string_view body) {
  AdapterUpload upload;
  std::vector<Finding> findings;
  bool has_config = false;
  for (const Part& part : read_multipart(body, boundary_of(content_type))) {
    if (part.name == "name")
      upload.name = part.bytes.substr(0, max_adapter_name_bytes + 1);
    else if (part.name == "file")
      upload.file = part.bytes;
    else if (part.name == "config")
      upload.config = part.bytes, has_config = true;
    else
      findings.push_back({part.name.substr(0, 100), "", "unknown", how});
  }
  check_name(upload.name, findings);
  check_file(upload.file, findings);
  if (has_config) check_config(upload.config, findings);
  if (!findings.empty()) throw InvalidRequest(findings);
  return upload;
}

}  // namespace omnirt::serve
