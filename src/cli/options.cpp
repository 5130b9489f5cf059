#include "cli/options.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/json_text.hpp"
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

// "{...}", "PATH" or "PATH:SCALE"; what stands behind the last colon and is no number belongs to
// the path.
Json adapter_flag(const std::string& text) {
  if (text.starts_with("{")) return json_flag("adapter", text);
  size_t colon = checked_text("adapter", text).rfind(':');
  Json scale = colon == text.npos ? Json() : parse_scalar(text.substr(colon + 1));
  if (!scale.is_number()) return {{"path", text}};
  return {{"path", text.substr(0, colon)}, {"scale", scale}};
}

// "name=value"
std::pair<std::string, std::string> pair_flag(const std::string& field, const std::string& text) {
  size_t equals = checked_text(field, text).find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InvalidRequest({"--" + field, text, "name=value is expected", ""});
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// " [20]"; of a key for which models have defaults of their own, those are not told here.
std::string default_text(const Json& fallback, bool by_model) {
  if (by_model) return " [the model's]";
  return fallback.is_null() ? "" : fmt::format(" [{}]", fallback.dump());
}

}  // namespace

RequestOptions::RequestOptions(CLI::App& app, const std::vector<const KeyInfo*>& keys,
                               const std::set<std::string>& model_defaults)
    : keys_(keys) {
  add_fields(app);
  for (const KeyInfo* key : keys) add_key(app, *key, model_defaults.contains(key->name));
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
  app.add_option("--prompt-2", prompts_2_, "the same for the model's second text encoder")
      ->group(group);
  app.add_option("--negative-prompt", negative_prompts_, "what it does not show")->group(group);
  app.add_option("--negative-prompt-2", negative_prompts_2_, "for the second text encoder")
      ->group(group);
  app.add_option("-i,--image", image_, "picture to start from")->group(group);
  app.add_option("--latents", latents_, "latents file to go on from, as output_type latent writes")
      ->group(group);
  app.add_option("--mask", mask_, "white where the picture is made anew")->group(group);
  app.add_option("--input", inputs_,
                 "name=value: any other input, a text or a path; the same name again makes a list")
      ->group(group);
  app.add_option("--guider", guider_, "guider by its type, or as JSON: {\"type\": \"pag\", ...}")
      ->group(group);
  app.add_option("--guider-set", guider_settings_,
                 "key=value: a setting of the guider, the value as JSON or text")
      ->group(group);
  app.add_option("--scheduler-set", scheduler_settings_,
                 "key=value: a setting of the scheduler's config, the value as JSON or text; again "
                 "for more")
      ->group(group);
  app.add_option("--component", components_,
                 "name=folder: a part in place of the model's; again for more")
      ->group(group);
  app.add_option("--adapter,--lora", adapters_,
                 "adapter: PATH or PATH:SCALE, or JSON {\"path\", \"scale\", \"mode\", ...}; again "
                 "for more")
      ->group(group);
  app.add_option("--set", settings_, "key=value: any config key, the value as JSON or text")
      ->group(group);
  app.add_option("--confine", confine_,
                 "folder outside of which no path of the request may lie (models and adapters "
                 "found by name may); also OMNIRT_CONFINE")
      ->envname("OMNIRT_CONFINE")
      ->group(group);
  app.add_flag("--strict", strict_, "unknown config keys are errors, not warnings")->group(group);
}

void RequestOptions::add_key(CLI::App& app, const KeyInfo& key, bool by_model) {
  if (app.get_option_no_throw("--" + key.flag_name()) ||
      (*key.brief && app.get_option_no_throw(std::string("-") + key.brief))) {
    throw InvalidRequest({"config key", key.name,
                          fmt::format("its flag --{} is taken by another", key.flag_name()),
                          "a plug-in that declares it gives it another flag"});
  }
  std::string name =
      (*key.brief ? std::string("-") + key.brief + "," : "") + "--" + key.flag_name();
  Json fallback = key.fallback_json();
  std::string help = key.help + default_text(fallback, by_model);
  // What is on unless it is turned off has a flag for that.
  if (fallback == true) name += ",!--no-" + key.flag_name();
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
  bool list = key.type == KeyInfo::Type::list || key.kinds == std::string_view("list");
  if (key.type == KeyInfo::Type::object && !list) return object_flag(key, text);
  if (list) return json_flag(key.flag_name(), text.starts_with('[') ? text : "[" + text + "]");
  Json value = parse_scalar(text);
  return value.is_number() ? value : Json(text);
}

// "pag", or {"type": "pag", ...}; and settings one by one.
void RequestOptions::take_guider(GenerateRequest& request) const {
  bool object = guider_.find_first_of("{[") != std::string::npos;
  if (object) request.guider = json_flag("guider", guider_);
  if (!object && !guider_.empty()) request.guider = {{"type", checked_text("guider", guider_)}};
  if (!request.guider.is_object())
    throw InvalidRequest({"guider", guider_, "an object is expected", ""});
  for (const std::string& text : guider_settings_) {
    auto [name, value] = pair_flag("guider-set", text);
    request.guider[name] = parse_json_or_text(value, "--guider-set");
  }
}

// Settings one by one, over those that --scheduler-config or the file has.
void RequestOptions::take_scheduler(GenerateRequest& request) const {
  for (const std::string& text : scheduler_settings_) {
    auto [name, value] = pair_flag("scheduler-set", text);
    Json& config = request.config[scheduler_config];
    if (!config.is_object() && !config.is_null()) return;  // validation says what it must be
    config[name] = parse_json_or_text(value, "--scheduler-set");
    request.say("config.scheduler_config");
  }
}

GenerateRequest RequestOptions::request() const {
  return request(GenerateRequest{});
}

GenerateRequest RequestOptions::request(GenerateRequest base) const {
  GenerateRequest request = file_.empty() ? std::move(base) : load_request(file_);
  if (!task_.empty()) request.task = checked_text("task", task_);
  if (!model_.empty()) {
    request.model = checked_text("model", model_);
    request.say("model");
  }
  if (!backend_.empty()) request.backend = checked_text("backend", backend_);
  for (const auto& [name, texts] : {std::pair{"prompt", &prompts_},
                                    {"prompt_2", &prompts_2_},
                                    {"negative_prompt", &negative_prompts_},
                                    {"negative_prompt_2", &negative_prompts_2_}}) {
    if (!texts->empty()) request.inputs[name] = text_or_list(name, *texts);
  }
  for (const auto& [name, path] :
       {std::pair{"image", &image_}, {"latents", &latents_}, {"mask", &mask_}}) {
    if (path->empty()) continue;
    request.inputs[name] = checked_text(name, *path);
    request.say(std::string("inputs.") + name);
  }
  std::map<std::string, std::vector<std::string>> named;
  for (const std::string& text : inputs_) {
    auto [name, value] = pair_flag("input", text);
    named[name].push_back(value);
  }
  for (const auto& [name, values] : named) {
    request.inputs[name] = text_or_list(name, values);
    request.say("inputs." + name);
  }
  take_guider(request);
  for (const std::string& text : adapters_) {
    request.say(fmt::format("adapters[{}]", request.adapters.size()));
    request.adapters.push_back(adapter_flag(text));
  }
  for (const std::string& text : components_) {
    auto [name, path] = pair_flag("component", text);
    request.components[name] = path;
    request.say("components." + name);
  }
  for (const std::string& text : settings_) {
    auto [name, value] = pair_flag("set", text);
    request.config[name] = parse_json_or_text(value, "--set");
    request.say("config." + name);
  }
  for (const KeyInfo* key : keys_) {
    auto value = values_.find(key->name);
    auto flag = flags_.find(key->name);
    if (value != values_.end() && !value->second.empty()) {
      request.config[key->name] = key_value(*key, value->second);
      request.say(std::string("config.") + key->name);
    }
    if (flag != flags_.end() && flag->second != 0) request.config[key->name] = flag->second > 0;
  }
  take_scheduler(request);
  return request;
}

}  // namespace omnirt::cli
