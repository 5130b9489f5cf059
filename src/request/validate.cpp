#include "request/validate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "pipeline/keys.hpp"
#include "request/numbered.hpp"
#include "request/provenance.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

void settle_plan(Proposal& proposal) {
  proposal.plan = make_plan(proposal.family->blocks, proposal.facts, proposal.guider->conditions(),
                            proposal.catalogue);
  for (const Finding& problem : proposal.plan.problems) proposal.error(problem);
}

// Listed by the model, and not there.
Finding missing_component(const Proposal& proposal, const std::string& name) {
  const fs::path& path = proposal.folder.path;
  const std::string give = fmt::format("give components.{} a folder or a file", name);
  if (proposal.single_file) {
    const std::string& why = proposal.single_file->missing.at(name).why;
    return {"model." + name, path_text(path), why + ", and this task needs it", give};
  }
  const std::string repository = io::cached_repository(path);
  const std::string complete = repository.empty() ? "complete the download"
                                                  : fmt::format("run `omnirt pull {}`", repository);
  return {"model." + name, path_text(path / name),
          "the model lists this component, and there is no such folder",
          fmt::format("{}, or {}", complete, give)};
}

std::string role_of(const Proposal& proposal, const std::string& name) {
  const WantedComponent wanted = validation::wanted_component(proposal, name);
  const nn::NetworkInfo* info = proposal.catalogue->find_network(wanted.class_name);
  return info ? info->role : "";
}

// A prompt is encoded by all text encoders of a model, or the denoiser gets embeddings that are too
// narrow for it. Blocks leave out one that is not there, as in models that have none.
void check_text_encoders(Proposal& proposal) {
  if (!proposal.single_file) return;
  const auto& used = proposal.plan.components;
  const bool encodes = std::ranges::any_of(
      used, [&](const std::string& name) { return role_of(proposal, name) == "text_encoder"; });
  if (!encodes) return;
  for (const auto& [name, part] : proposal.single_file->missing) {
    const bool known = proposal.folder.find(name) || std::ranges::find(used, name) != used.end();
    if (!known && role_of(proposal, name) == "text_encoder")
      proposal.error(missing_component(proposal, name));
  }
}

void check_components(Proposal& proposal) {
  for (const std::string& name : proposal.plan.components) {
    auto refused = proposal.refused_components.find(name);
    if (refused != proposal.refused_components.end())
      proposal.take(InvalidRequest(refused->second));
    if (proposal.folder.find(name) && !proposal.absent.contains(name)) continue;
    auto elsewhere = proposal.folder.elsewhere.find(name);
    if (elsewhere != proposal.folder.elsewhere.end() && elsewhere->second.empty()) {
      proposal.error(missing_component(proposal, name));
      continue;
    }
    if (elsewhere != proposal.folder.elsewhere.end()) {
      proposal.error({"model." + name, elsewhere->second,
                      "the model's index says that it is in this repository, which is not in the "
                      "Hugging Face cache",
                      fmt::format("fetch it with `omnirt pull {}`, or give components.{} a folder",
                                  elsewhere->second, name)});
      continue;
    }
    proposal.error({"model." + name, path_text(proposal.folder.path),
                    "the model has no such component, and this task needs it",
                    fmt::format("give components.{} a folder", name)});
  }
  check_text_encoders(proposal);
}

// A network for a guider that does not ask it would be ignored in silence.
void check_guider_components(Proposal& proposal) {
  for (const GuiderInfo& guider : proposal.catalogue->guiders) {
    for (const std::string& name : guider.components) {
      if (!proposal.request.components.contains(name) || proposal.plan.last_use.contains(name))
        continue;
      proposal.error({"components." + name, shown(proposal.request.components[name]),
                      "this request's guider does not ask it",
                      fmt::format("set guider.type={}, or remove it", guider.type)});
    }
  }
}

void check_blocks(Proposal& proposal) {
  for (size_t i = proposal.part.first; i < proposal.plan.blocks.size(); ++i) {
    try {
      const Block& block = *proposal.plan.blocks[i];
      Checks checks = proposal.checks_of(block);
      block.check(checks);
    } catch (const InvalidRequest& thrown) {
      proposal.take(thrown);
    }
  }
}

// The steps that know the model; each finds all it can before the next looks.
void settle_all(Proposal& proposal) {
  using namespace validation;
  settle_hires_upscaler(proposal);
  settle_paths(proposal);
  settle_seed(proposal);
  settle_resume(proposal);
  if (!proposal.ok() || !settle_model(proposal)) return;
  take_prompt_adapters(proposal);
  expand_lists(proposal);
  settle_components(proposal);
  settle_adapters(proposal);
  settle_resumed_components(proposal);
  settle_networks(proposal);
  settle_backend(proposal);
  if (!settle_task(proposal)) return;
  settle_choices(proposal);
  settle_guider(proposal);
  if (!proposal.guider) return;
  settle_plan(proposal);
  check_guider_components(proposal);
  settle_part(proposal);
  check_components(proposal);
  settle_inputs(proposal);
  check_things(proposal);
  settle_config(proposal);
  settle_scheduler(proposal);
  settle_output(proposal);
  settle_preview(proposal);
  restore_values(proposal);
  if (proposal.ok()) check_blocks(proposal);
  if (proposal.ok()) check_size(proposal);
  compare_record(proposal);
  check_restored(proposal);
  check_fingerprints(proposal);
}

}  // namespace

Proposal validate(const Catalogue& catalogue, const GenerateRequest& request,
                  const ValidateOptions& options) {
  Proposal proposal;
  proposal.request = request;
  proposal.catalogue = &catalogue;
  proposal.confine = options.confine;
  proposal.files = options.files;
  proposal.networks = options.networks;
  try {
    settle_all(proposal);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
  const ConfigValue* release = proposal.config.find(keys::release_components.name);
  if (options.single_run && release && release->origin == Origin::fallback) {
    proposal.config.set(keys::release_components.name, true, Origin::derived);
  }
  if (options.strict) {
    for (Finding& finding : proposal.warnings) proposal.errors.push_back(std::move(finding));
    proposal.warnings.clear();
  }
  if (proposal.ok()) validation::warn_of_replaced(proposal);
  return proposal;
}

}  // namespace omnirt
