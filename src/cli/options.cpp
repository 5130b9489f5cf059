#include "cli/options.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/utf8.hpp"

namespace omnirt::cli {
namespace {

// What the shell hands over may be any bytes; everything behind this is UTF-8.
const std::string& checked_text(const std::string& field, const std::string& text) {
  size_t bad = io::find_invalid_utf8(text);
  if (bad == std::string::npos) return text;
  throw InvalidRequest(
      {field, "", fmt::format("not UTF-8 at byte {}", bad), "set the terminal to UTF-8"});
}

Json text_or_list(const std::string& field, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) checked_text(field, text);
  return texts.size() == 1 ? Json(texts.front()) : Json(texts);
}

Json json_flag(const std::string& field, const std::string& text) {
  return parse_json(checked_text(field, text), "--" + field);
}

// "name=value"
std::pair<std::string, std::string> pair_flag(const std::string& field, const std::string& text) {
  size_t equals = checked_text(field, text).find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InvalidRequest({"--" + field, text, "name=value is expected", ""});
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

RequestOptions::RequestOptions(CLI::App& app, const std::vector<const KeyInfo*>& keys)
    : keys_(keys) {
  add_fields(app);
  for (const KeyInfo* key : keys) add_key(app, *key);
}

void RequestOptions::add_fields(CLI::App& app) {
  const std::string group = "Request";
  app.add_option("-f,--file", file_,
                 "request file (JSON or YAML), - for standard input; flags stand over it")
      ->group(group);
  app.add_option("--task", task_, "text2image, image2image, inpaint; unset: told from the inputs")
      ->group(group);
  app.add_option("-m,--model", model_, "model id or folder")->group(group);
  app.add_option("--backend", backend_, "auto, or one that `omnirt backends` lists")->group(group);
  app.add_option("-p,--prompt", prompts_, "what the picture shows; again for several prompts")
      ->group(group);
  app.add_option("--negative-prompt", negative_prompts_, "what it does not show")->group(group);
  app.add_option("-i,--image", image_, "picture to start from")->group(group);
  app.add_option("--mask", mask_, "white where the picture is made anew")->group(group);
  app.add_option("--guider", guider_, "guider as JSON: {\"type\": \"cfg\", ...}")->group(group);
  app.add_option("--component", components_,
                 "name=folder: a part in place of the model's; again for more")
      ->group(group);
  app.add_option("--adapter", adapters_,
                 "adapter as JSON: {\"kind\", \"path\", \"scale\"}; again for more")
      ->group(group);
  app.add_option("--set", settings_, "key=value: any config key, the value as JSON or text")
      ->group(group);
  app.add_flag("--strict", strict_, "unknown config keys are errors, not warnings")->group(group);
}

void RequestOptions::add_key(CLI::App& app, const KeyInfo& key) {
  std::string name =
      (*key.brief ? std::string("-") + key.brief + "," : "") + "--" + key.flag_name();
  Json fallback = key.fallback_json();
  std::string help =
      key.help + (fallback.is_null() ? std::string() : fmt::format(" [{}]", fallback.dump()));
  if (key.type == KeyInfo::Type::boolean)
    app.add_flag(name, flags_[key.name], help)->group("Config");
  else
    app.add_option(name, values_[key.name], help)->group("Config");
}

// A flag's text as the key's type; what is no number stays a text, and validation says what was
// expected.
Json RequestOptions::key_value(const KeyInfo& key, const std::string& text) const {
  checked_text(key.name, text);
  if (key.type == KeyInfo::Type::text) return text;
  if (key.type == KeyInfo::Type::object) return json_flag(key.flag_name(), text);
  Json value = Json::parse(text, nullptr, false);
  return value.is_number() ? value : Json(text);
}

GenerateRequest RequestOptions::request() const {
  return request(GenerateRequest{});
}

GenerateRequest RequestOptions::request(GenerateRequest base) const {
  GenerateRequest request = file_.empty() ? std::move(base) : load_request(file_);
  if (!task_.empty()) request.task = checked_text("task", task_);
  if (!model_.empty()) request.model = checked_text("model", model_);
  if (!backend_.empty()) request.backend = checked_text("backend", backend_);
  if (!prompts_.empty()) request.inputs["prompt"] = text_or_list("prompt", prompts_);
  if (!negative_prompts_.empty())
    request.inputs["negative_prompt"] = text_or_list("negative_prompt", negative_prompts_);
  if (!image_.empty()) request.inputs["image"] = checked_text("image", image_);
  if (!mask_.empty()) request.inputs["mask"] = checked_text("mask", mask_);
  if (!guider_.empty()) request.guider = json_flag("guider", guider_);
  if (!request.guider.is_object())
    throw InvalidRequest({"guider", guider_, "an object is expected", ""});
  for (const std::string& text : adapters_) request.adapters.push_back(json_flag("adapter", text));
  for (const std::string& text : components_) {
    auto [name, path] = pair_flag("component", text);
    request.components[name] = path;
  }
  for (const std::string& text : settings_) {
    auto [name, value] = pair_flag("set", text);
    Json parsed = Json::parse(value, nullptr, false);
    request.config[name] = parsed.is_discarded() ? Json(value) : parsed;
  }
  for (const KeyInfo* key : keys_) {
    auto value = values_.find(key->name);
    auto flag = flags_.find(key->name);
    if (value != values_.end() && !value->second.empty())
      request.config[key->name] = key_value(*key, value->second);
    if (flag != flags_.end() && flag->second) request.config[key->name] = true;
  }
  return request;
}

}  // namespace omnirt::cli
