#include "weights/adapters/peft_settings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/path_text.hpp"
#include "io/file.hpp"
#include "weights/adapters/layouts.hpp"

namespace omnirt::adapters {
namespace {

constexpr size_t max_config_bytes = size_t{1} << 20;

// A finite positive number, or 0 where there is none.
double number(const Json& json, const std::string& key, const std::string& where) {
  if (!json.contains(key) || json[key].is_null()) return 0;
  double value = json[key].is_number() ? json[key].get<double>() : -1;
  if (std::isfinite(value) && value > 0) return value;
  throw InvalidFile({where, key + ": " + shown(json[key]), "a number above 0 is expected", ""});
}

std::map<std::string, double> pattern(const Json& json, const std::string& key,
                                      const std::string& where) {
  std::map<std::string, double> found;
  if (!json.contains(key) || !json[key].is_object()) return found;
  for (const auto& [name, value] : json[key].items()) {
    // PEFT takes these for regular expressions; what its own tools write are plain names.
    if (name.find_first_of("*+?()[]{}|\\$") != name.npos) {
      throw Unsupported({where, key + ": " + name,
                         "an expression, where a layer's name is expected",
                         "write the layers' names out"});
    }
    found[name] = number(json[key], name, where);
  }
  return found;
}

PeftSettings settings_of(const Json& json, const std::string& where) {
  if (!json.is_object()) throw InvalidFile({where, shown(json), "an object is expected", ""});
  PeftSettings settings;
  settings.rank = number(json, "r", where);
  settings.alpha = number(json, json.contains("lora_alpha") ? "lora_alpha" : "alpha", where);
  settings.rank_pattern = pattern(json, "rank_pattern", where);
  settings.alpha_pattern = pattern(json, "alpha_pattern", where);
  settings.rank_stabilised = json.value("use_rslora", Json()) == true;
  if (json.value("fan_in_fan_out", Json()) == true)
    throw Unsupported({where, "fan_in_fan_out: true", "weights stored the other way round", ""});
  return settings;
}

bool is_end_of(const std::string& pattern, const std::string& layer) {
  if (pattern.starts_with('^')) return layer == std::string_view(pattern).substr(1);
  if (!layer.ends_with(pattern)) return false;
  size_t before = layer.size() - pattern.size();
  return before == 0 || layer[before - 1] == '.';
}

double by_pattern(const std::map<std::string, double>& patterns, const std::string& layer,
                  double otherwise) {
  for (const auto& [pattern, value] : patterns) {
    if (is_end_of(pattern, layer)) return value;
  }
  return otherwise;
}

}  // namespace

PeftSettings read_peft_config(const std::filesystem::path& path) {
  std::string where = path_text(path);
  Json json = parse_json(io::read_file(path, max_config_bytes), where, max_config_bytes);
  if (!json.is_object()) throw InvalidFile({where, shown(json), "an object is expected", ""});
  Json type = json.value("peft_type", Json("LORA"));
  if (type != "LORA" && type != "LOHA" && type != "LOKR") {
    throw Unsupported({where, "peft_type: " + shown(type), "a kind of adapter that is not applied",
                       "LORA, LOHA and LOKR are"});
  }
  return settings_of(json, where);
}

void read_peft_metadata(const std::string& text, const std::string& where,
                        std::map<std::string, PeftSettings>& into) {
  Json json = parse_json(text, where + " (lora_adapter_metadata)", max_config_bytes);
  if (!json.is_object()) return;
  std::map<std::string, Json> by_component;
  for (const auto& [key, value] : json.items()) {
    size_t dot = key.find('.');
    if (dot == key.npos) continue;
    std::string component = key.substr(0, dot);
    if (component == "unet" || component == "transformer") component = denoiser_component;
    by_component.try_emplace(component, Json::object()).first->second[key.substr(dot + 1)] = value;
  }
  for (const auto& [component, values] : by_component)
    into[component] = settings_of(values, where + " (lora_adapter_metadata)");
}

RankAlpha rank_alpha(const PeftSettings& settings, const std::string& layer) {
  return {by_pattern(settings.rank_pattern, layer, settings.rank),
          by_pattern(settings.alpha_pattern, layer, settings.alpha)};
}

}  // namespace omnirt::adapters
