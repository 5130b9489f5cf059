#include "engine/recognise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/path_text.hpp"
#include "io/carried_text.hpp"
#include "io/image.hpp"
#include "io/safetensors.hpp"
#include "pipeline/latents_file.hpp"
#include "pipeline/saved_run.hpp"
#include "request/adapter_family.hpp"
#include "weights/adapters/resolve.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

std::set<int64_t> ranks_of(const adapters::AdapterFile& file) {
  std::set<int64_t> ranks;
  for (const adapters::FileLayer& layer : file.layers) {
    auto down = layer.parts.find("down");
    if (down != layer.parts.end() && !down->second.entry->shape.empty())
      ranks.insert(down->second.entry->shape.front());
  }
  return ranks;
}

// How many of a file's layers a network has, and in which layouts.
struct Match {
  size_t layers = 0;
  std::set<std::string> layouts{};
};

Match match(const adapters::AdapterFile& file, const nn::NetworkInfo& info) {
  Match found;
  std::unique_ptr<nn::Network> network;
  try {
    network = info.make(Json::object(), info.class_name);
  } catch (const InvalidRequest&) {
    return found;  // it has no usual config
  }
  const adapters::Targets targets(adapters::denoiser_component, *network, /*denoiser=*/true);
  for (const adapters::FileLayer& layer : file.layers) {
    const std::vector<adapters::TargetPart> parts = targets.parts(layer.name);
    if (layer.number || parts.empty()) continue;
    ++found.layers;
    found.layouts.insert(adapters::layout_of(layer, targets, parts.front()));
  }
  return found;
}

// A file's layout. Where the notation of its keys leaves open whose names its layers have, those of
// the denoiser that has most of them.
std::string layout_of(const Catalogue& catalogue, const adapters::AdapterFile& file) {
  const bool open = std::ranges::any_of(file.layers, [](const adapters::FileLayer& layer) {
    return layer.layout == "diffusers" || layer.layout == "peft";
  });
  if (!open) return file.layout;
  Match best;
  for (const nn::NetworkInfo& info : catalogue.networks) {
    if (info.role != "denoiser") continue;
    Match found = match(file, info);
    if (found.layers > best.layers) best = std::move(found);
  }
  return best.layers == 0 ? file.layout : fmt::format("{}", fmt::join(best.layouts, "+"));
}

std::string in_words(const adapters::AdapterFile& file, const std::string& layout,
                     const std::string& made_for, const std::set<int64_t>& ranks) {
  std::string kind = fmt::format("{} ({} layout)", fmt::join(file.kinds(), ", "), layout);
  if (!made_for.empty()) kind += " for " + made_for;
  if (!ranks.empty()) kind += fmt::format(", rank {}", fmt::join(ranks, ", "));
  return "an adapter: " + kind + "; use it with --lora";
}

std::string text(const Json& json, const char* key) {
  auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

Json inspect_image(const fs::path& path, const io::CarriedText& carried) {
  bool is_image = carried.kind == "png" || carried.kind == "jpeg" || carried.kind == "webp";
  Json json = {
      {"path", path.native()}, {"kind", is_image ? "image" : "video"}, {"format", carried.kind}};
  if (is_image) {
    io::ImageInfo info = io::probe_image(path);
    json["width"] = info.width;
    json["height"] = info.height;
    json["channels"] = info.channels;
  }
  json["request"] = nullptr;
  if (carried.text)
    json["request"] = parse_json(*carried.text, path_text(path), io::max_metadata_bytes);
  if (carried.parameters) json["parameters"] = *carried.parameters;
  return json;
}

Json inspect_state(const fs::path& path) {
  SavedRun run = read_saved_run(path);
  Json values = Json::array(), components = Json::object();
  for (const SavedRun::Value& value : run.values) {
    Json tensors = Json::object();
    for (const auto& [name, tensor] : value.saved.tensors) tensors[name] = tensor.sizes().vec();
    values.push_back({{"name", value.name},
                      {"condition", value.condition},
                      {"type", value.type},
                      {"tensors", tensors}});
  }
  for (const auto& [name, component] : run.components) components[name] = component.class_name;
  return {
      {"path", path.native()},
      {"kind", "state of a run"},
      {"what", fmt::format("a run of {}, {}, stopped after {}: continue with generate --resume {}",
                           text(run.record, "model"), text(run.record, "task"), run.after,
                           path_text(path))},
      {"version", run.version},
      {"after", run.after},
      {"workflow", run.workflow},
      {"components", components},
      {"values", values},
      {"request", run.record}};
}

Json inspect_latents(const fs::path& path) {
  LatentsInfo info = probe_latents(path);
  Json request = info.origin.value("request", Json());
  return {{"path", path.native()},
          {"kind", "latents"},
          {"what", fmt::format("latents {{{}}} of {} {}: {} with generate --latents {}",
                               fmt::join(info.shape, ", "), info.shape.front(),
                               info.shape.size() == 5 ? "videos" : "images",
                               request.is_null() ? "start" : "continue", path_text(path))},
          {"shape", info.shape},
          {"request", request}};
}

}  // namespace

std::optional<Json> recognise_adapter(const Catalogue& catalogue, const fs::path& path) {
  adapters::AdapterFile file;
  try {
    file = adapters::open_adapter(path, "", "path");
  } catch (const InvalidRequest&) {
    return std::nullopt;
  }
  if (!file.problems.empty() || file.kinds().empty()) return std::nullopt;
  Proposal proposal;
  proposal.catalogue = &catalogue;
  std::string made_for = other_family(proposal, file).value_or("");
  std::set<int64_t> ranks = ranks_of(file);
  const std::string layout = layout_of(catalogue, file);
  return Json{{"kind", in_words(file, layout, made_for, ranks)},
              {"adapter",
               {{"layout", layout},
                {"kinds", file.kinds()},
                {"made_for", made_for.empty() ? Json() : Json(made_for)},
                {"ranks", ranks},
                {"layers", file.layers.size()},
                {"tokens", file.tokens.size()}}}};
}

std::optional<Json> inspect_own_file(const fs::path& path) {
  if (auto carried = io::read_carried_text(path)) return inspect_image(path, *carried);
  std::shared_ptr<const io::SafetensorsFile> file;
  try {
    file = io::SafetensorsFile::open(path);
  } catch (const InvalidRequest&) {
    return std::nullopt;  // the search for weights says what it is
  }
  if (is_saved_run(*file)) return inspect_state(path);
  bool latents = file->entries().size() == 1 && file->find("latents");
  return latents ? std::optional(inspect_latents(path)) : std::nullopt;
}

}  // namespace omnirt
