#include <fmt/format.h>

#include "base/path_text.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/component_files.hpp"
#include "request/model_search.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace fs = std::filesystem;
namespace {

void check_linear(Proposal& proposal) {
  const PreviewMeans* means = proposal.family->preview_means(proposal.spec->id);
  int64_t channels = proposal.autoencoder()->latent_channels();
  if (means && static_cast<int64_t>(means->colours.size()) == channels) return;
  proposal.error(
      {"config.preview_decoder", "linear",
       fmt::format("the colours of this model's {} latent channels are not known", channels),
       "give the folder of a tiny autoencoder of these latents (AutoencoderTiny)"});
}

// The folder of the model's tiny autoencoder; empty where there is none here.
fs::path tiny_folder(Proposal& proposal) {
  const PreviewMeans* means = proposal.family->preview_means(proposal.spec->id);
  std::string id = means ? means->tiny : "";
  if (id.empty()) {
    proposal.error({"config.preview_decoder", "tiny", "no tiny autoencoder is known for this model",
                    "give the folder of one, or linear"});
    return {};
  }
  if (const ComponentFolder* own = proposal.folder.find(id)) return own->folder;
  fs::path folder = find_model(id.substr(id.find('/') + 1), {id});
  if (folder.empty()) {
    proposal.error({"config.preview_decoder", "tiny", fmt::format("{} is not on this machine", id),
                    "put it into the Hugging Face cache, give a folder, or linear"});
  }
  return folder;
}

// The one file of a folder that is published without a config; else the folder, or file, itself.
fs::path file_alone(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || fs::exists(path / "config.json", error)) return path;
  fs::path found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() != ".safetensors" || !entry.is_regular_file(error)) continue;
    if (!found.empty()) return path;
    found = entry.path();
  }
  return found.empty() ? path : found;
}

ComponentFolder read_decoder(const Proposal& proposal, const fs::path& path) {
  auto file = read_component_file(*proposal.catalogue, preview_component, file_alone(path));
  return file ? std::move(*file) : read_component_folder(preview_component, path);
}

void take_decoder(Proposal& proposal, const fs::path& folder) {
  if (folder.empty()) return;
  ComponentFolder component = read_decoder(proposal, folder);
  const nn::NetworkInfo* info = proposal.catalogue->find_network(component.class_name);
  if (!info || info->role != "autoencoder") {
    bool named = !component.class_name.empty();
    proposal.error(
        {"config.preview_decoder", path_text(folder),
         fmt::format("holds {}, where an autoencoder is expected",
                     named ? "a " + component.class_name : "no config.json that names a class"),
         "give a folder with an AutoencoderTiny"});
    return;
  }
  describe(proposal, component);
  int64_t channels = proposal.network<nn::Autoencoder>(preview_component).latent_channels();
  int64_t own = proposal.autoencoder()->latent_channels();
  if (channels != own) {
    proposal.error({"config.preview_decoder", path_text(folder),
                    fmt::format("decodes {} latent channels, and this model has {}", channels, own),
                    "give one of this model's latents"});
    return;
  }
  proposal.folder.components.insert_or_assign(preview_component, std::move(component));
  proposal.plan.components.emplace_back(preview_component);
  proposal.plan.last_use[preview_component] = proposal.part.end - 1;
}

void check_name(Proposal& proposal) {
  std::string name = proposal.config.get(keys::preview_name);
  if (name.empty() || name.find('/') != std::string::npos) {
    proposal.error({"config.preview_name", name, "a file's name is expected, without a folder",
                    "preview_dir names the folder"});
    return;
  }
  for (size_t at = name.find('{'); at != std::string::npos; at = name.find('{', at + 1)) {
    std::string word = name.substr(at, name.find('}', at) - at + 1);
    if (word != "{run}" && word != "{index}" && word != "{step}" && word != "{seed}") {
      proposal.error({"config.preview_name", name, fmt::format("{} is not a placeholder", word),
                      "{run}, {index}, {step} and {seed} are known"});
    }
  }
  try {
    io::image_format_from_path(name);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

void warn_without_effect(Proposal& proposal) {
  for (const char* key :
       {keys::preview_dir.name, keys::preview_name.name, keys::preview_decoder.name}) {
    const ConfigValue* given = proposal.config.find(key);
    if (!given || given->origin != Origin::user) continue;
    proposal.warn({fmt::format("config.{}", key), shown(given->value),
                   "has no effect without preview_every",
                   "set config.preview_every=1, or remove it"});
  }
}

}  // namespace

void settle_preview(Proposal& proposal) {
  if (proposal.config.get(keys::preview_every) == 0) return warn_without_effect(proposal);
  if (!has_loop(proposal.plan, proposal.part)) {
    proposal.warn({"config.preview_every", std::to_string(proposal.config.get(keys::preview_every)),
                   "no loop runs here, so that there is nothing to show", "remove it"});
    return;
  }
  check_name(proposal);
  check_output_dir(proposal, "config.preview_dir", proposal.config.get(keys::preview_dir));
  if (!proposal.autoencoder()) return;
  std::string decoder = proposal.config.get(keys::preview_decoder);
  if (decoder == "linear") return check_linear(proposal);
  try {
    take_decoder(proposal, decoder == "tiny" ? tiny_folder(proposal) : fs::path(decoder));
  } catch (const InvalidRequest& thrown) {
    for (Finding finding : thrown.findings()) {
      finding.field = "config.preview_decoder";
      proposal.error(std::move(finding));
    }
  }
}

}  // namespace omnirt::validation
