// The request's guider: which it is, and which of its settings act.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

// The network itself reads the key, whatever the guider does.
bool is_network_input(const Proposal& proposal, const KeyInfo* key) {
  return key == &keys::guidance_scale && takes_guidance_scale(proposal);
}

}  // namespace

// Short keys next to a guider whose settings are under request.guider, and those of another
// family's usual guider, would mislead.
void hide_unused_guidance(Proposal& proposal) {
  const auto& usual = proposal.family->guider_keys;
  std::vector<const KeyInfo*> hidden = default_guider_keys();
  std::erase_if(hidden, [&](const KeyInfo* key) { return is_network_input(proposal, key); });
  if (proposal.request.guider.empty())
    std::erase_if(hidden, [&](const KeyInfo* key) { return std::ranges::count(usual, key) > 0; });
  else
    hidden.insert(hidden.end(), usual.begin(), usual.end());
  for (const KeyInfo* key : hidden) proposal.config.set(key->name, nullptr, Origin::derived);
}

namespace {

// The usual guider of the family with what the short keys say; settle_config reports their values.
Json usual_guider(const Proposal& proposal) {
  const Json& merged = proposal.facts.config;
  Json config{{"type", proposal.family->guider}};
  for (const KeyInfo* key : proposal.family->guider_keys) {
    std::vector<Finding> unused;
    if (!merged.contains(key->name) || merged[key->name].is_null()) continue;
    Json value = merged[key->name];
    if (check_value(*key, key->name, value, unused)) config[key->name] = value;
  }
  return config;
}

// Short keys of guidance that this request's guider does not read.
void check_short_keys(Proposal& proposal) {
  const Json& user = proposal.request.config;
  bool own = !proposal.request.guider.empty();
  const auto& usual = proposal.family->guider_keys;
  std::vector<std::string> names, fields;
  for (const KeyInfo* key : usual) {
    names.emplace_back(key->name);
    fields.push_back(std::string("config.") + key->name);
  }
  const std::string those =
      fields.empty() ? "remove it" : fmt::format("set {} in its place", fmt::join(fields, " or "));
  auto refuse = [&](const KeyInfo* key, const std::string& what, const std::string& way_out) {
    if (!user.contains(key->name)) return;
    proposal.error({fmt::format("config.{}", key->name), shown(user[key->name]), what, way_out});
  };
  for (const KeyInfo* key : usual) {
    if (own && user.contains(key->name))
      refuse(key, "given together with a guider",
             fmt::format("set guider.{}={} in its place", key->name, shown(user[key->name])));
  }
  for (const KeyInfo* key : default_guider_keys()) {
    if (std::ranges::count(usual, key) > 0 || is_network_input(proposal, key)) continue;
    const std::string what =
        names.empty() ? "this model has no guidance"
                      : fmt::format("this model's guidance is set by {}", fmt::join(names, ", "));
    refuse(key, what, those);
  }
}

// A guider that says nothing of settings for which the model has values takes the model's.
void take_model_guidance(const Proposal& proposal, const GuiderInfo& info, Json& config) {
  const Json defaults = proposal.spec->defaults(proposal.folder);
  for (const KeyInfo* key : info.keys) {
    if (!config.contains(key->name) && defaults.contains(key->name))
      config[key->name] = defaults[key->name];
  }
}

// Where the settings of this request's guider come from: its own fields, or the family's short keys
// in config.
struct GuiderSettings {
  std::string place;  // "guider." or "config."
  const GuiderInfo* info = nullptr;
  std::vector<const KeyInfo*> keys{};
  Json config = Json::object();
};

GuiderSettings guider_settings(const Proposal& proposal) {
  const bool own = !proposal.request.guider.empty();
  GuiderSettings found{.place = own ? "guider." : "config."};
  found.config = own ? proposal.request.guider : usual_guider(proposal);
  const std::string type = found.config.value("type", "none");
  found.config.erase("type");
  found.info = proposal.catalogue->find_guider(type);
  if (!found.info) return found;
  found.keys = own ? found.info->keys : proposal.family->guider_keys;
  // The family's guider does not run where the network takes the scale.
  const bool by_network = !own && proposal.guider && proposal.guider->name() == "none";
  if (by_network) found.info = proposal.catalogue->find_guider("none");
  return found;
}

// Whether the guider guides with this value of a setting in place of its own.
bool guides_at(const GuiderSettings& settings, const KeyInfo& key, double value) {
  const auto& keys = settings.info->keys;
  const bool has = std::ranges::any_of(
      keys, [&](const KeyInfo* own) { return std::string_view(own->name) == key.name; });
  if (!has || key.type != KeyInfo::Type::number) return false;
  Json config = settings.config;
  config[key.name] = value;
  try {
    return settings.info->make(config)->conditions().size() > 1;
  } catch (const InvalidRequest&) {
    return false;
  }
}

// How to turn guidance on by the scale that does; "" where none does.
std::string scale_to_raise(const GuiderSettings& settings) {
  for (const KeyInfo* key : settings.keys) {
    if (!guides_at(settings, *key, key->max)) continue;
    const int above = guides_at(settings, *key, 1) ? 0 : 1;
    return settings.place == "guider." ? fmt::format("set guider.{}={}", key->name, above + 1)
                                       : fmt::format("raise config.{} above {}", key->name, above);
  }
  return "";
}

// A setting that the request gives, and not as its default.
bool is_given(const Proposal& proposal, const GuiderSettings& settings, const KeyInfo& key) {
  const Json& given =
      settings.place == "guider." ? proposal.request.guider : proposal.request.config;
  return given.contains(key.name) && !given[key.name].is_null() &&
         given[key.name] != key.fallback_json();
}

}  // namespace

bool takes_guidance_scale(const Proposal& proposal) {
  return std::ranges::any_of(proposal.facts.components, [](const auto& entry) {
    const auto* network = dynamic_cast<const nn::DenoiserNetwork*>(entry.second.get());
    return network && network->takes_guidance_scale();
  });
}

void settle_guider(Proposal& proposal) {
  Json config = proposal.request.guider;
  if (takes_guidance_scale(proposal)) {
    if (!config.empty()) {
      proposal.error({"guider", shown(config),
                      "this model's network takes the guidance scale as an input",
                      "remove it, and set config.guidance_scale"});
      config = Json::object();
    }
    // Where the family's usual guider has a scale of its own, it is independent of the network's.
    if (std::ranges::count(proposal.family->guider_keys, &keys::guidance_scale) > 0) {
      proposal.guider = proposal.catalogue->find_guider("none")->make(Json::object());
      return;
    }
  }
  check_short_keys(proposal);
  if (config.empty()) config = usual_guider(proposal);
  std::vector<std::string> types;
  for (const GuiderInfo& info : proposal.catalogue->guiders) types.push_back(info.type);
  if (!config.contains("type") || !config["type"].is_string()) {
    proposal.error({"guider.type", "", "a guider names its type",
                    fmt::format("set guider.type to one of: {}", fmt::join(types, ", "))});
    return;
  }
  std::string type = config["type"].get<std::string>();
  config.erase("type");
  const GuiderInfo* info = proposal.catalogue->find_guider(type);
  if (!info) {
    proposal.error({"guider.type", type, "this build has no such guider", suggest(type, types)});
    return;
  }
  take_model_guidance(proposal, *info, config);
  try {
    proposal.guider = info->make(config);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

std::string guidance_fix(const Proposal& proposal) {
  const std::string raise = scale_to_raise(guider_settings(proposal));
  return raise.empty() ? "remove it" : raise + ", or remove it";
}

void warn_of_unguided(Proposal& proposal) {
  const std::vector<Condition> conditions = proposal.guider->conditions();
  if (std::ranges::any_of(conditions, &Condition::negative)) return;
  const GuiderSettings settings = guider_settings(proposal);
  if (!settings.info) return;
  const std::string fix = guidance_fix(proposal);
  for (const KeyInfo* key : settings.keys) {
    // Other kinds of guidance (of perturbed layers) have a range, and are not rescaled.
    const bool rescale = std::string_view(key->name) == keys::guidance_rescale.name;
    if (conditions.size() > 1 && !rescale) continue;
    const bool scale =
        !rescale && (is_network_input(proposal, key) || guides_at(settings, *key, key->max));
    if (scale || !is_given(proposal, settings, *key)) continue;
    constexpr const char* why = "has no effect without guidance";
    if (settings.place == "config.")
      proposal.unused(*key, why, fix);
    else
      proposal.warn({"guider." + std::string(key->name), shown(proposal.request.guider[key->name]),
                     why, fix});
  }
}

}  // namespace omnirt::validation
