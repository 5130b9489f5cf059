#include "weights/adapters/resolve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "nn/original_layout.hpp"
#include "weights/adapters/layouts.hpp"
#include "weights/adapters/peft_settings.hpp"
#include "weights/adapters/shapes.hpp"

namespace omnirt::adapters {
namespace {

constexpr size_t most_findings = 12;
constexpr size_t max_classes_bytes = size_t{1} << 20;  // real ones take some 100 bytes

// Parts that go to the layer's bias, and those that are numbers.
bool is_factor(const std::string& part) {
  return part != "alpha" && part != "diff_b" && part != "up_bias";
}

bool is_number(const io::TensorEntry& entry) {
  return std::ranges::all_of(entry.shape, [](int64_t size) { return size == 1; });
}

class Resolver {
 public:
  Resolver(const AdapterFile& file, const std::vector<Targets>& targets,
           const ResolveOptions& options)
      : file_(file), targets_(targets), options_(options) {}

  Resolution run() {
    for (const FileLayer& layer : file_.layers) resolve(layer);
    if (count_ > most_findings) {
      result_.findings.push_back({options_.field, path_text(file_.path),
                                  fmt::format("and {} more such layers", count_ - most_findings),
                                  ""});
    }
    result_.layout = layouts_.empty() ? file_.layout : fmt::format("{}", fmt::join(layouts_, "+"));
    return std::move(result_);
  }

 private:
  struct Match {
    const Targets* targets;
    TargetPart part;
  };

  // The components that a layer may belong to.
  std::vector<const Targets*> candidates(const FileLayer& layer) const {
    const std::string& wanted = options_.component.empty() ? layer.component : options_.component;
    std::vector<const Targets*> found;
    for (const Targets& each : targets_) {
      if (wanted.empty() || wanted == each.component() ||
          (wanted == denoiser_component && each.is_denoiser()))
        found.push_back(&each);
    }
    return found;
  }

  std::vector<TargetPart> find_in(const Targets& targets, const FileLayer& layer) {
    if (!layer.number) return targets.parts(layer.name);
    const auto& numbered = numbered_of(targets);
    if (*layer.number >= numbered.size()) return {};
    return {{numbered[*layer.number]}};
  }

  const std::vector<const TargetLayer*>& numbered_of(const Targets& targets) {
    auto [it, fresh] = numbered_.try_emplace(&targets);
    if (fresh) it->second = targets.numbered(classes_said(targets));
    return it->second;
  }

  // cloneofsimo/lora writes the classes that it counted into the metadata, as a list of texts.
  std::vector<std::string> classes_said(const Targets& targets) const {
    auto said = file_.metadata.find(targets.is_denoiser() ? "unet" : targets.component());
    std::vector<std::string> classes;
    // Other programs may keep any text under these keys.
    bool is_json = said != file_.metadata.end() && said->second.find_first_of("[{") == 0;
    if (!is_json) return classes;
    std::string where = fmt::format("{} (metadata {})", path_text(file_.path), said->first);
    Json list = parse_json(said->second, where, max_classes_bytes);
    if (!list.is_array()) return classes;
    for (const Json& each : list) {
      if (each.is_string()) classes.push_back(each);
    }
    return classes;
  }

  void resolve(const FileLayer& layer) {
    std::vector<const Targets*> places = candidates(layer);
    if (places.empty()) return not_there(layer);
    std::string wrong;
    for (const Targets* targets : places) {
      std::vector<TargetPart> found = find_in(*targets, layer);
      if (found.empty()) continue;
      std::string problem = take_all(layer, *targets, found);
      if (problem.empty()) {
        layouts_.insert(layout_of(layer, *targets, found.front()));
        return;
      }
      wrong = fmt::format("{} of {}: {}", found.front().layer->path, targets->component(), problem);
    }
    if (!wrong.empty())
      finding(layer, "mis-shaped: " + wrong, "use an adapter that was made for this model");
    else
      unknown(layer, places);
  }

  void not_there(const FileLayer& layer) {
    std::string wanted = options_.component.empty() ? layer.component : options_.component;
    if (options_.not_loaded.contains(wanted)) return;
    if (wanted == denoiser_component && !options_.not_loaded.empty()) return;
    std::vector<std::string> names;
    for (const Targets& each : targets_) names.push_back(each.component());
    finding(layer, fmt::format("belongs to the component {}, which this model has not", wanted),
            fmt::format("its components: {}", fmt::join(names, ", ")));
  }

  void unknown(const FileLayer& layer, const std::vector<const Targets*>& places) {
    std::string component = places.front()->component();
    if (layer.number) {
      return finding(layer,
                     fmt::format("layer {} of {}, which has {} layers of the kinds that the file "
                                 "counts",
                                 *layer.number, component, numbered_of(*places.front()).size()),
                     "use an adapter that was made for this model");
    }
    std::vector<std::string> names;
    if (count_ < most_findings) {
      for (const Targets* targets : places)
        std::ranges::copy(targets->names(layer.name.find('.') == layer.name.npos),
                          std::back_inserter(names));
    }
    std::string near = nearest_name(layer.name, names);
    finding(layer,
            places.size() == 1 ? fmt::format("matches no layer of the component {}", component)
                               : "matches no layer of the model",
            near.empty() ? "" : fmt::format("the nearest is {}", near));
  }

  void finding(const FileLayer& layer, std::string message, std::string way_out) {
    if (count_++ >= most_findings) return;
    result_.findings.push_back(
        {options_.field, layer.name, std::move(message), std::move(way_out)});
  }

  // Of layers in one tensor all are changed, or none.
  std::string take_all(const FileLayer& layer, const Targets& targets,
                       const std::vector<TargetPart>& found) {
    size_t before = result_.changes.size();
    for (const TargetPart& part : found) {
      std::string problem = take(layer, {&targets, part});
      if (problem.empty()) continue;
      result_.changes.resize(before);
      return problem;
    }
    return "";
  }

  // Enters what the layer does to the match; what does not fit is reported and nothing is entered.
  std::string take(const FileLayer& layer, const Match& match) {
    std::string kind = kind_of(layer);
    if (kind.empty()) return "";  // reported with the file's own problems
    std::vector<LayerChange> made;
    bool only_bias = kind == "diff" && !layer.parts.contains("diff");
    LayerChange change{.component = match.targets->component(),
                       .param = match.part.layer->weight,
                       .kind = kind,
                       .factors = {},
                       .form = match.part.form,
                       .part = match.part.part,
                       .parts = match.part.parts,
                       .span = match.part.span};
    for (const auto& [part, tensor] : layer.parts) {
      if (is_factor(part)) change.factors.emplace(part, tensor);
    }
    if (!only_bias) {
      if (std::string wrong = check_shapes(change); !wrong.empty()) return wrong;
      if (std::string wrong = set_scale(layer, change); !wrong.empty()) return wrong;
      made.push_back(change);
    }
    for (const char* part : {"diff_b", "up_bias"}) {
      if (!layer.parts.contains(part)) continue;
      if (!match.part.layer->bias) return "it has a bias, and the model's layer has none";
      LayerChange bias = change;
      bias.param = match.part.layer->bias;
      bias.kind = "diff";
      bias.factors = {{"diff", layer.parts.at(part)}};
      bias.rank = 0;
      bias.alpha = std::nullopt;
      bias.stored_scale = 1;
      if (std::string wrong = check_shapes(bias); !wrong.empty()) return wrong;
      if (part == std::string("up_bias")) bias.stored_scale = change.stored_scale;
      made.push_back(bias);
    }
    std::ranges::move(made, std::back_inserter(result_.changes));
    result_.layers[change.component].insert(match.part.layer->path);
    return "";
  }

  const PeftSettings* settings_of(const LayerChange& change) const {
    bool denoiser = std::ranges::any_of(targets_, [&](const Targets& each) {
      return each.component() == change.component && each.is_denoiser();
    });
    for (const std::string& name :
         {denoiser ? std::string(denoiser_component) : change.component, std::string()}) {
      auto it = file_.settings.find(name);
      if (it != file_.settings.end()) return &it->second;
    }
    return nullptr;
  }

  // alpha / rank, as in the file; 1 without an alpha.
  std::string set_scale(const FileLayer& layer, LayerChange& change) const {
    if (change.kind == "diff" || change.kind == "norm") return "";
    const PeftSettings* settings = settings_of(change);
    RankAlpha said = settings ? rank_alpha(*settings, layer.name) : RankAlpha{};
    auto stored = layer.parts.find("alpha");
    if (stored != layer.parts.end()) {
      if (!is_number(*stored->second.entry)) return "its alpha is not one number";
      said.alpha = read_factor(stored->second).reshape({-1})[0].item<double>();
      if (!std::isfinite(said.alpha)) return "its alpha is not a number";
    }
    if (stored == layer.parts.end() && said.alpha == 0) return "";
    change.alpha = said.alpha;
    double rank = static_cast<double>(change.rank);
    if (rank == 0) {
      // Whole matrices: PEFT scales them by the settings' rank, LyCORIS not at all.
      if (said.rank == 0) return "";
      rank = said.rank;
    }
    bool stabilised = settings && settings->rank_stabilised;
    change.stored_scale = said.alpha / (stabilised ? std::sqrt(rank) : rank);
    return "";
  }

  const AdapterFile& file_;
  const std::vector<Targets>& targets_;
  const ResolveOptions& options_;
  std::map<const Targets*, std::vector<const TargetLayer*>> numbered_;
  std::set<std::string> layouts_;
  Resolution result_;
  size_t count_ = 0;
};

}  // namespace

std::string layout_of(const FileLayer& layer, const Targets& targets, const TargetPart& match) {
  if (match.original.empty() || (layer.layout != "diffusers" && layer.layout != "peft"))
    return layer.layout;
  for (const nn::NamedAdapters& each : nn::named_adapters()) {
    if (each.original == match.original && each.notation == layer.layout) return each.name;
  }
  // Layouts that only adapters have are named after their authors.
  const auto checkpoints = targets.network().original_layouts();
  const bool of_checkpoints = std::ranges::any_of(
      checkpoints, [&](const nn::OriginalLayout& each) { return each.name == match.original; });
  return of_checkpoints ? "original" : match.original;
}

Resolution resolve(const AdapterFile& file, const std::vector<Targets>& targets,
                   const ResolveOptions& options) {
  return Resolver(file, targets, options).run();
}

}  // namespace omnirt::adapters
