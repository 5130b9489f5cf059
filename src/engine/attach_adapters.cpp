#include "engine/attach_adapters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "engine/attach_tokens.hpp"
#include "engine/finite_checks.hpp"
#include "request/adapter_family.hpp"
#include "weights/adapters/resolve.hpp"

namespace omnirt {
namespace {

using adapters::LayerChange;
using adapters::Targets;

// The overlays of a run as they come together, by component.
struct Overlays {
  struct Parts {
    std::string key;
    std::map<size_t, std::vector<LayerChange>> changes;  // by parameter
    std::map<size_t, std::vector<SideTerm>> beside;
  };
  std::map<std::string, Parts> parts;
};

class Attaching {
 public:
  Attaching(Proposal& proposal, LoadedPipeline& pipeline)
      : proposal_(proposal), pipeline_(pipeline) {
    // A guider's weaker network stays as it is: adapters are made for the model's own.
    std::set<std::string> of_guider;
    for (const Condition& condition : proposal.guider->conditions())
      of_guider.insert(condition.network);
    // ControlNets come last: they have blocks of the same names as the network that files which
    // name no component are made for.
    for (const bool controls : {false, true}) {
      for (const auto& [name, component] : pipeline.components()) {
        if (!component->network || of_guider.contains(name)) continue;
        const auto* info = proposal.catalogue->find_network(component->class_name);
        const std::string role = info ? info->role : "";
        if ((role == "controlnet") == controls)
          targets_.emplace_back(name, *component->network, role == "denoiser");
      }
    }
    for (const auto& [name, component] : proposal.folder.components) {
      if (!pipeline.find(name)) not_loaded_.insert(name);
    }
  }

  void run() {
    for (size_t i = 0; i < proposal_.adapters.size(); ++i) attach(proposal_.adapters[i], i);
    if (!proposal_.ok()) return;
    tokens_.attach();
    for (auto& [component, parts] : overlays_.parts)
      pipeline_.set_overlay(component, overlay_of(component, parts));
    for (const auto& [component, table] : tokens_.tables()) {
      if (!overlays_.parts.contains(component))
        pipeline_.set_overlay(component, overlay_of(component, {}));
    }
    proposal_.adapter_reports = std::move(reports_);
  }

 private:
  void attach(const AdapterChoice& choice, size_t index) {
    check_scales(choice);
    adapters::Resolution found =
        adapters::resolve(*choice.file, targets_, {choice.field, choice.component, not_loaded_});
    if (!found.findings.empty()) return refuse(choice, found.findings);
    check_finite(proposal_, choice);
    AdapterReport report = report_of(choice, found);
    report.tokens = tokens_.add(choice);
    check_effect(choice, found);
    for (LayerChange& change : found.changes) {
      change.scale = scale_of(choice, change);
      enter(choice, change);
    }
    for (const auto& [component, layers] : found.layers)
      overlays_.parts[component].key += key_of(choice, index);
    reports_.push_back(std::move(report));
  }

  void refuse(const AdapterChoice& choice, const std::vector<Finding>& findings) {
    if (auto other = other_family(proposal_, *choice.file)) {
      proposal_.error(family_finding(proposal_, choice.field, *choice.file, *other));
      return;
    }
    for (const Finding& finding : findings) proposal_.error(finding);
  }

  void enter(const AdapterChoice& choice, const LayerChange& change) {
    Overlays::Parts& parts = overlays_.parts[change.component];
    if (!choice.beside || change.kind == "norm") {
      parts.changes[change.param->index].push_back(change);
      return;
    }
    auto term = adapters::side_term(change);
    if (term) {
      parts.beside[change.param->index].push_back(std::move(*term));
      return;
    }
    if (refused_beside_.insert(choice.field).second) {
      proposal_.error(
          {choice.field + ".mode", "beside",
           fmt::format("a {} changes the weights themselves: {}", change.kind, change.param->name),
           "set mode to merged; only plain LoRA can be applied next to the weights"});
    }
  }

  // Whether a scale's path names a component, or a module of one.
  bool names_module(const std::string& path) const {
    return std::ranges::any_of(targets_, [&](const Targets& targets) {
      const std::string& name = targets.component();
      return path == name ||
             (path.starts_with(name + ".") && targets.has_path(path.substr(name.size() + 1)));
    });
  }

  void check_scales(const AdapterChoice& choice) {
    for (const auto& [path, scale] : choice.scales) {
      if (names_module(path) || not_loaded_.contains(path.substr(0, path.find('.')))) continue;
      std::vector<std::string> known;
      for (const Targets& targets : targets_) {
        known.push_back(targets.component());
        for (const std::string& each : targets.paths())
          known.push_back(targets.component() + "." + each);
      }
      proposal_.error({choice.field + ".scales." + path, fmt::format("{}", scale),
                       "the model has no such component or block",
                       known.size() > 20 && nearest_name(path, known).empty()
                           ? "give a component (unet, text_encoder) or a block in it "
                             "(unet.up_blocks.1)"
                           : suggest(path, known)});
    }
  }

  // The request's scale with the factor of the longest path that holds the layer.
  static double scale_of(const AdapterChoice& choice, const LayerChange& change) {
    std::string path = change.component + "." + change.param->name;
    size_t longest = 0;
    double factor = 1;
    for (const auto& [start, scale] : choice.scales) {
      bool holds = path == start || path.starts_with(start + ".");
      if (!holds || start.size() < longest) continue;
      longest = start.size();
      factor = scale;
    }
    return choice.scale * factor;
  }

  void check_effect(const AdapterChoice& choice, const adapters::Resolution& found) {
    if (found.changes.empty()) return;
    bool all_zero = std::ranges::all_of(
        found.changes, [&](const LayerChange& change) { return scale_of(choice, change) == 0; });
    if (!all_zero) return;
    proposal_.warn({choice.field + ".scale", fmt::format("{}", choice.scale),
                    "all its layers have scale 0: it changes nothing",
                    "remove it, or scale it up"});
  }

  AdapterReport report_of(const AdapterChoice& choice, const adapters::Resolution& found) {
    AdapterReport report;
    report.path = path_text(choice.file->path);
    report.kind = fmt::format("{}", fmt::join(choice.file->kinds(), "+"));
    report.layout = found.layout;
    report.mode = choice.beside ? "beside" : "merged";
    report.scale = choice.scale;
    for (const auto& [path, scale] : choice.scales) report.scales[path] = scale;
    std::set<int64_t> ranks;
    std::set<double> alphas;
    for (const LayerChange& change : found.changes) {
      if (change.rank > 0) ranks.insert(change.rank);
      if (change.alpha) alphas.insert(*change.alpha);
    }
    report.ranks = {ranks.begin(), ranks.end()};
    report.alphas = {alphas.begin(), alphas.end()};
    for (const auto& [component, layers] : found.layers)
      report.layers[component] = static_cast<int64_t>(layers.size());
    return report;
  }

  // What of a choice the overlay's values depend on.
  static std::string key_of(const AdapterChoice& choice, size_t index) {
    std::string key = fmt::format("{}|{}|{}|{}|{}", index, choice.file->identity, choice.scale,
                                  choice.beside, choice.component);
    for (const auto& [path, scale] : choice.scales) key += fmt::format("|{}={}", path, scale);
    return key + "\n";
  }

  std::shared_ptr<const Overlay> overlay_of(const std::string& component,
                                            const Overlays::Parts& parts) {
    auto overlay = std::make_shared<Overlay>();
    overlay->key = parts.key;
    for (const auto& [index, changes] : parts.changes) {
      overlay->changed[index] = [of_weight = changes](const Tensor& stored) {
        return adapters::changed(stored, of_weight);
      };
    }
    overlay->beside = parts.beside;
    auto table = tokens_.tables().find(component);
    if (table != tokens_.tables().end()) {
      overlay->key += table->second.key;
      Overlay::Change before;
      auto changed = overlay->changed.find(table->second.param);
      if (changed != overlay->changed.end()) before = changed->second;
      overlay->changed[table->second.param] = [rows = table->second.rows, before](const Tensor& x) {
        return with_rows(before ? before(x) : x, rows);
      };
    }
    return overlay;
  }

  Proposal& proposal_;
  LoadedPipeline& pipeline_;
  std::vector<Targets> targets_;
  std::set<std::string> not_loaded_;
  std::set<std::string> refused_beside_;
  Overlays overlays_;
  TokenAttaching tokens_{proposal_, pipeline_};
  std::vector<AdapterReport> reports_;
};

}  // namespace

void attach_adapters(Proposal& proposal, LoadedPipeline& pipeline) {
  if (!proposal.adapters.empty()) Attaching(proposal, pipeline).run();
}

}  // namespace omnirt
