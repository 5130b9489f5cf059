#include "cli/options.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "catalogue/make_session.hpp"
#include "cli/flag_text.hpp"

namespace omnirt::cli {
namespace {

Json text_or_list(const std::string& field, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) checked_text(field, text);
  return texts.size() == 1 ? Json(texts.front()) : Json(texts);
}

Json json_flag(const std::string& field, const std::string& text) {
  return parse_json(checked_text(field, text), "--" + field);
}

constexpr const char* scheduler_config = "scheduler_config";

// A flag for JSON; "key=value" given to it is what another flag takes.
Json object_flag(const KeyInfo& key, const std::string& text) {
  try {
    return json_flag(key.flag_name(), text);
  } catch (const InvalidRequest&) {
    if (key.name != std::string_view(scheduler_config) || text.find_first_of("{[") == 0 ||
        text.find('=') == std::string::npos)
      throw;
    throw InvalidRequest({"--" + key.flag_name(), text, "a JSON object is expected",
                          fmt::format("use --scheduler-set {}, or --{} '{{\"{}\": ...}}'", text,
                                      key.flag_name(), text.substr(0, text.find('=')))});
  }
}

// "{...}", "PATH" or "PATH:SCALE".
Json adapter_flag(const std::string& text) {
  if (text.starts_with("{")) return json_flag("adapter", text);
  return adapter_of_text(checked_text("adapter", text));
}

}  // namespace

void RequestOptions::given(GenerateRequest& request, const std::string& field) {
  request.say(field);
  command_.fields.typed(field);
}

// A flag's text as the key's type; what is no number stays a text, and validation says what was
// expected.
Json RequestOptions::key_value(const KeyInfo& key, const std::string& text) const {
  checked_text(key.name, text);
  if (key.type == KeyInfo::Type::text) return text;
  bool word = std::string_view(key.kinds).starts_with("text") && text.find_first_of("{[") != 0;
  if (word) return text;
  bool list = key.type == KeyInfo::Type::list || key.kinds == std::string_view("list");
  if (key.type == KeyInfo::Type::object && !list) return object_flag(key, text);
  if (list) return json_flag(key.flag_name(), text.starts_with('[') ? text : "[" + text + "]");
  Json value = parse_scalar(text);
  return value.is_number() ? value : Json(text);
}

// "pag", or {"type": "pag", ...}; and settings one by one.
void RequestOptions::take_guider(GenerateRequest& request) {
  bool object = guider_.find_first_of("{[") != std::string::npos;
  if (!guider_.empty()) command_.fields.typed("guider", "--guider");
  if (object) request.guider = json_flag("guider", guider_);
  if (!object && !guider_.empty()) request.guider = {{"type", checked_text("guider", guider_)}};
  if (!request.guider.is_object())
    throw InvalidRequest({"guider", guider_, "an object is expected", ""});
  for (const std::string& text : guider_settings_) {
    auto [name, value] = pair_flag("guider-set", text, "pag_scale=3");
    request.guider[name] = parse_json_or_text(value, "--guider-set");
    command_.fields.typed("guider." + name, "--guider-set");
  }
}

// Settings one by one, over those that --scheduler-config or the file has.
void RequestOptions::take_scheduler(GenerateRequest& request) {
  for (const std::string& text : scheduler_settings_) {
    auto [name, value] = pair_flag("scheduler-set", text, "use_karras_sigmas=true");
    Json& config = request.config[scheduler_config];
    if (!config.is_object() && !config.is_null()) return;  // validation says what it must be
    config[name] = parse_json_or_text(value, "--scheduler-set");
    given(request, std::string("config.") + scheduler_config);
  }
}

void RequestOptions::take_inputs(GenerateRequest& request) {
  for (const auto& [name, texts] : texts_) {
    if (texts.empty()) continue;
    request.inputs[name] = text_or_list(name, texts);
    command_.fields.typed("inputs." + name);
  }
  for (const auto& [name, path] : paths_) {
    if (path.empty()) continue;
    request.inputs[name] = checked_text(name, path);
    given(request, "inputs." + name);
  }
  std::map<std::string, std::vector<std::string>> named;
  for (const std::string& text : inputs_) {
    auto [name, value] = pair_flag("input", text, "image_reference=in.png");
    named[name].push_back(value);
  }
  for (const auto& [name, values] : named) {
    request.inputs[name] = text_or_list(name, values);
    given(request, "inputs." + name);
  }
}

void RequestOptions::take_parts(GenerateRequest& request) {
  for (const std::string& text : adapters_) {
    given(request, fmt::format("adapters[{}]", request.adapters.size()));
    request.adapters.push_back(adapter_flag(text));
  }
  for (const auto& [name, path] : parts_) {
    if (path.empty()) continue;
    request.components[name] = checked_text(name, path);
    given(request, "components." + name);
  }
  for (const std::string& text : components_) {
    auto [name, path] = pair_flag("component", text, "unet=FOLDER");
    request.components[name] = path;
    given(request, "components." + name);
  }
}

void RequestOptions::take_config(GenerateRequest& request) {
  for (const std::string& text : settings_) {
    auto [name, value] = pair_flag("set", text, "eta=0.5");
    request.config[name] = parse_json_or_text(value, "--set");
    given(request, "config." + name);
  }
  for (const KeyInfo* key : keys_) {
    const std::string field = std::string("config.") + key->name;
    auto value = values_.find(key->name);
    auto flag = flags_.find(key->name);
    if (value != values_.end() && !value->second.empty()) {
      request.config[key->name] = key_value(*key, value->second);
      given(request, field);
    }
    if (flag == flags_.end() || flag->second == 0) continue;
    request.config[key->name] = flag->second > 0;
    command_.fields.typed(field);
  }
}

void RequestOptions::use_threads() const {
  constexpr int64_t most = 1024;
  if (command_.get_option("--threads")->count() == 0) return;
  if (threads_ < 1 || threads_ > most) {
    throw InvalidRequest({"--threads", fmt::format("{}", threads_), "out of range",
                          fmt::format("give 1 to {}", most)});
  }
  limit_threads(static_cast<int>(threads_));
}

GenerateRequest RequestOptions::request() {
  return request(GenerateRequest{});
}

GenerateRequest RequestOptions::request(GenerateRequest base) {
  if (!file_.empty() || !base.inputs.empty()) command_.fields.from_file();
  GenerateRequest request = file_.empty() ? std::move(base) : load_request(file_);
  if (!model_.empty()) {
    request.model = checked_text("model", model_);
    given(request, "model");
  }
  for (auto [field, text, into] :
       {std::tuple{"task", &task_, &request.task}, {"backend", &backend_, &request.backend}}) {
    if (text->empty()) continue;
    *into = checked_text(field, *text);
    command_.fields.typed(field);
  }
  take_inputs(request);
  take_guider(request);
  take_parts(request);
  take_config(request);
  take_scheduler(request);
  return request;
}

}  // namespace omnirt::cli
