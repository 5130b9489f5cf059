#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "request/adapter_family.hpp"
#include "request/model_search.hpp"
#include "request/validate.hpp"
#include "weights/adapters/limits.hpp"
#include "weights/widened.hpp"

namespace omnirt::validation {
namespace {

constexpr size_t most_adapters = 64;
constexpr double largest_scale = 1000;

const std::vector<std::string>& fields() {
  static const std::vector<std::string> names{"kind",   "path",      "file", "scale",
                                              "scales", "component", "mode", "token"};
  return names;
}

// Which kinds of layers a `kind` of a request means: a file must hold some of them.
const std::map<std::string, std::set<std::string>>& kinds() {
  static const std::map<std::string, std::set<std::string>> all{
      {"lora", {"lora", "dora", "norm"}},
      {"locon", {"lora", "dora"}},
      {"dora", {"dora"}},
      {"loha", {"loha"}},
      {"lokr", {"lokr"}},
      {"lycoris", {"lora", "dora", "loha", "lokr", "diff"}},
      {"diff", {"diff"}},
      {"textual_inversion", {"textual_inversion"}}};
  return all;
}

// Reads one entry of the request's list.
class Reader {
 public:
  Reader(Proposal& proposal, std::string field, const Json& json)
      : proposal_(proposal), field_(std::move(field)), json_(json) {}

  void read() {
    if (!json_.is_object())
      return error("", json_, "a path or an object is expected",
                   "give \"style.safetensors:0.8\", or {\"path\": ..., \"scale\": ...}");
    for (const auto& [name, value] : json_.items()) {
      if (std::ranges::find(fields(), name) == fields().end())
        error("." + name, value, "an adapter has no such field", suggest(name, fields()));
    }
    choice_.field = field_;
    choice_.given = text("path");
    if (!json_.contains("path")) error(".path", "", "missing: an adapter's file, folder or id", "");
    kind_ = text("kind");
    file_ = text("file");
    choice_.component = text("component");
    read_kind();
    read_mode();
    read_scale();
    read_scales("", json_.value("scales", Json()));
    read_tokens();
    if (!failed_) open();
    if (!failed_) proposal_.adapters.push_back(std::move(choice_));
  }

 private:
  void error(const std::string& name, const Json& value, std::string message, std::string way_out) {
    failed_ = true;
    proposal_.error({field_ + name, value.is_string() ? value.get<std::string>() : shown(value),
                     std::move(message), std::move(way_out)});
  }

  std::string text(const char* name) {
    Json value = json_.value(name, Json());
    if (value.is_string() && !value.get<std::string>().empty()) return value;
    if (!value.is_null()) error(std::string(".") + name, value, "a text is expected", "");
    return "";
  }

  void read_kind() {
    if (kind_.empty() || kinds().contains(kind_)) return;
    std::vector<std::string> names;
    for (const auto& [name, stands_for] : kinds()) names.push_back(name);
    error(".kind", kind_, "unknown kind of adapter", suggest(kind_, names));
  }

  void read_mode() {
    std::string mode = text("mode");
    choice_.beside = mode == "beside";
    if (!mode.empty() && mode != "merged" && mode != "beside")
      error(".mode", mode, "unknown mode", "merged or beside");
  }

  bool is_scale(const Json& value) const {
    return value.is_number() && std::isfinite(value.get<double>()) &&
           std::abs(value.get<double>()) <= largest_scale;
  }

  void read_scale() {
    Json value = json_.value("scale", Json());
    if (value.is_null()) return;
    if (!is_scale(value))
      return error(".scale", value, fmt::format("a number up to {} is expected", largest_scale),
                   "");
    choice_.scale = value;
  }

  // Objects in objects spell a path: {"unet": {"up_blocks.1": 0.5}}.
  void read_scales(const std::string& path, const Json& value) {
    if (value.is_null()) return;
    if (is_scale(value) && !path.empty()) {
      choice_.scales[path] = value;
    } else if (!value.is_object()) {
      error(".scales" + (path.empty() ? "" : "." + path), value,
            "numbers are expected, by component or block", "{\"unet\": 0.8}");
    } else {
      for (const auto& [name, inner] : value.items())
        read_scales(path.empty() ? name : path + "." + name, inner);
    }
  }

  void read_tokens() {
    Json value = json_.value("token", Json());
    if (value.is_null()) return;
    Json list = value.is_string() ? Json::array({value}) : value;
    bool texts = list.is_array() && !list.empty() && std::ranges::all_of(list, [](const Json& t) {
                   return t.is_string() && !t.get<std::string>().empty() &&
                          t.get<std::string>().size() <= adapters::max_token_bytes;
                 });
    if (!texts) {
      return error(".token", value,
                   fmt::format("a text of at most {} bytes, or a list of such, is expected",
                               adapters::max_token_bytes),
                   "");
    }
    choice_.tokens = list.get<std::vector<std::string>>();
  }

  void open() {
    try {
      // A path was made absolute, and checked against where it may be; a name is looked for.
      if (choice_.given.starts_with("/")) proposal_.path_of(field_, choice_.given);
      std::string at;
      if (proposal_.reaches(field_, choice_.given))
        at = proposal_.request.path_of(field_, choice_.given);
      fs_path path = find_adapter(choice_.given, at, field_ + ".path");
      auto file = adapters::open_adapter(path, file_, field_);
      check_kind(file);
      check_problems(file);
      choice_.file = std::make_shared<const adapters::AdapterFile>(std::move(file));
    } catch (const InvalidRequest& thrown) {
      failed_ = true;
      proposal_.take(thrown);
    }
  }

  void check_kind(const adapters::AdapterFile& file) {
    std::vector<std::string> found = file.kinds();
    const auto& taken = proposal_.spec->adapter_kinds;
    for (const std::string& kind : found) {
      if (std::ranges::count(taken, kind) > 0) continue;
      error(".path", path_text(file.path),
            fmt::format("a {}, which '{}' does not take", kind, proposal_.spec->id),
            fmt::format("its kinds: {}", fmt::join(taken, ", ")));
    }
    if (kind_.empty() || found.empty()) return;
    const std::set<std::string>& wanted = kinds().at(kind_);
    bool fits = std::ranges::any_of(found, [&](const auto& kind) { return wanted.contains(kind); });
    if (!fits) {
      error(".kind", kind_,
            fmt::format("{} holds {}", path_text(file.path), fmt::join(found, ", ")),
            "omit kind: it is inferred from the file");
    }
  }

  // Of a file for another family that is all that needs to be said.
  void check_problems(const adapters::AdapterFile& file) {
    if (file.problems.empty()) return;
    failed_ = true;
    if (auto other = other_family(proposal_, file)) {
      proposal_.error(family_finding(proposal_, field_, file, *other));
      return;
    }
    for (const Finding& problem : file.problems) proposal_.error(problem);
  }

  using fs_path = std::filesystem::path;
  Proposal& proposal_;
  std::string field_;
  const Json& json_;
  std::string kind_, file_;
  AdapterChoice choice_;
  bool failed_ = false;
};

void widen(ComponentFolder& component, const nn::InputWidening& widening,
           const adapters::FileLayer& layer) {
  if (layer.name != widening.layer && layer.name != widening.original) return;
  auto down = layer.parts.find("down");
  if (down == layer.parts.end() || down->second.entry->shape.size() != 2) return;
  const Json said = component.config.value(widening.key, Json(widening.usual));
  const int64_t wide = down->second.entry->shape[1];
  // A control image has as many channels as the latents.
  if (!said.is_number_integer() || wide != 2 * said.get<int64_t>()) return;
  Json& config = component.config;
  if (config.value(widening.made, Json()).is_null()) config[widening.made] = said;
  config[widening.key] = wide;
  note_widened(config, widening.layer + ".weight", said.get<int64_t>());
}

void widen_networks(Proposal& proposal) {
  for (const AdapterChoice& choice : proposal.adapters) {
    for (auto& [name, component] : proposal.folder.components) {
      if (!choice.component.empty() && choice.component != name) continue;
      const nn::NetworkInfo* info = proposal.catalogue->find_network(component.class_name);
      if (!info || !info->widening) continue;
      for (const adapters::FileLayer& layer : choice.file->layers)
        widen(component, *info->widening, layer);
    }
  }
}

}  // namespace

void settle_adapters(Proposal& proposal) {
  const Json& list = proposal.request.adapters;
  if (list.size() > most_adapters) {
    proposal.error({"adapters", fmt::format("{} adapters", list.size()),
                    fmt::format("more than {}", most_adapters), "merge some beforehand"});
    return;
  }
  for (size_t i = 0; i < list.size(); ++i)
    Reader(proposal, fmt::format("adapters[{}]", i), list[i]).read();
  widen_networks(proposal);
}

}  // namespace omnirt::validation
