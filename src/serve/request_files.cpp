#include "serve/request_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "serve/base64.hpp"

namespace omnirt::serve {
namespace {

constexpr const char* how =
    R"(send the image itself: {"data": BASE64}, or {"part": NAME} of a multipart body)";

}  // namespace

bool is_text_input(std::string_view name) {
  static constexpr std::array texts{"prompt",          "prompt_2",          "prompt_3",
                                    "negative_prompt", "negative_prompt_2", "negative_prompt_3",
                                    "entity_prompts"};
  return std::find(texts.begin(), texts.end(), name) != texts.end();
}

bool is_image_input(std::string_view name) {
  return !is_text_input(name) && name != "latents" && name != "encoded_prompt";
}

void refuse_objects(const std::string& field, const Json& value, std::vector<Finding>& findings) {
  if (value.is_object()) findings.push_back({field, shown(value), "is no text", "give a string"});
  if (!value.is_array()) return;
  for (const Json& each : value) refuse_objects(field, each, findings);
}

void RequestFiles::refuse(const std::string& field, const std::string& value,
                          const std::string& message) {
  findings_.push_back({field, value, message, how});
}

void RequestFiles::take_inputs(Json& json) {
  if (!json.contains("inputs")) json["inputs"] = Json::object();
  Json& inputs = json["inputs"];
  if (!inputs.is_object()) return;
  for (auto& [name, value] : inputs.items()) {
    const std::string field = "inputs." + name;
    is_text_input(name) ? refuse_objects(field, value, findings_) : take(field, value);
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (used_[i]) continue;
    const std::string& name = parts_[i].name;
    if (is_text_input(name) || inputs.contains(name)) {
      refuse(fmt::format("part {}", name.substr(0, 100)), "", "no input of the request names it");
      continue;
    }
    take_part("inputs." + name, name, inputs[name]);
  }
}

void RequestFiles::take(const std::string& field, Json& value) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) take(fmt::format("{}[{}]", field, i), value[i]);
  } else if (value.is_object()) {
    take_object(field, value);
  } else if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const size_t comma = text.find(',');
    if (text.starts_with("data:") && comma != std::string::npos &&
        std::string_view(text).substr(0, comma).ends_with(";base64"))
      return take_base64(field, std::string_view(text).substr(comma + 1), value);
    refuse(field, shown(value), "over HTTP no request names a path or an address");
  }
}

void RequestFiles::take_object(const std::string& field, Json& value) {
  auto text = [&](const char* name) -> const std::string* {
    auto it = value.find(name);
    return it == value.end() ? nullptr : it->get_ptr<const std::string*>();
  };
  if (value.size() == 1 && text("data")) {
    const std::string data = *text("data");
    return take_base64(field, data, value);
  }
  if (value.size() == 1 && text("part")) {
    const std::string name = *text("part");
    return take_part(field, name, value);
  }
  refuse(field, shown(value), "is no image");
}

void RequestFiles::take_base64(const std::string& field, std::string_view text, Json& value) {
  auto bytes = bytes_of_base64(text);
  if (!bytes) return refuse(field, fmt::format("{} characters", text.size()), "is no base64");
  keep(field, std::move(*bytes), value);
}

void RequestFiles::take_part(const std::string& field, const std::string& name, Json& value) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].name != name) continue;
    used_[i] = true;
    return keep(field, std::string(parts_[i].bytes), value);
  }
  refuse(field, name.substr(0, 100), "the body has no part of this name");
}

void RequestFiles::keep(const std::string& field, std::string bytes, Json& value) {
  if (files_.size() >= max_sent_files)
    return refuse(field, "", fmt::format("more than {} images", max_sent_files));
  try {
    const io::ImageInfo info = io::probe_image_bytes(bytes, field, {.limits = sent_image_limits});
    const std::string name =
        fmt::format("input-{}{}", files_.size(), io::image_extension(info.format));
    files_.push_back({name, std::move(bytes)});
    value = {{sent_file_key, name}};
  } catch (const InvalidRequest& error) {
    findings_.insert(findings_.end(), error.findings().begin(), error.findings().end());
  }
}

}  // namespace omnirt::serve
