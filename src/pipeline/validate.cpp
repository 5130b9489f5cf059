#include "pipeline/validate.hpp"

#include <fmt/format.h>

#include "pipeline/keys.hpp"

namespace omnirt {
namespace {

void refuse_adapters(Proposal& proposal) {
  for (size_t i = 0; i < proposal.request.adapters.size(); ++i) {
    proposal.error({fmt::format("adapters[{}]", i), shown(proposal.request.adapters[i]),
                    "this build applies no adapters",
                    "remove it, or merge it into the checkpoint beforehand"});
  }
}

void settle_plan(Proposal& proposal) {
  proposal.plan = make_plan(proposal.family->blocks, proposal.facts, proposal.guider->conditions());
  for (const Finding& problem : proposal.plan.problems) proposal.error(problem);
  for (const std::string& name : proposal.plan.components) {
    if (proposal.folder.find(name)) continue;
    proposal.error({"model." + name, proposal.folder.path.string(),
                    "the model's folder has no such component, and this "
                    "task needs it",
                    fmt::format("give components.{} a folder", name)});
  }
}

void check_blocks(Proposal& proposal) {
  for (const auto& block : proposal.plan.blocks) {
    try {
      block->check(proposal);
    } catch (const InvalidRequest& thrown) {
      proposal.take(thrown);
    }
  }
}

// The steps that know the model; each finds all it can before the next looks.
void settle_all(Proposal& proposal) {
  using namespace validation;
  if (!settle_model(proposal)) return;
  settle_components(proposal);
  settle_backend(proposal);
  if (!settle_task(proposal)) return;
  settle_guider(proposal);
  if (!proposal.guider) return;
  settle_plan(proposal);
  settle_inputs(proposal);
  settle_config(proposal);
  settle_scheduler(proposal);
  settle_output(proposal);
  if (proposal.ok()) check_blocks(proposal);
}

}  // namespace

Proposal validate(const Catalogue& catalogue, const GenerateRequest& request,
                  const ValidateOptions& options) {
  Proposal proposal;
  proposal.request = request;
  proposal.catalogue = &catalogue;
  refuse_adapters(proposal);
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
  return proposal;
}

}  // namespace omnirt
