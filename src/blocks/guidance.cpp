#include "blocks/guidance.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "nn/sites.hpp"
#include "pipeline/loop.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {
namespace {

void check_sites(Proposal& proposal, const Condition& condition,
                 const nn::DenoiserNetwork& network) {
  std::vector<Site> sites = nn::sites_of(network);
  for (const SiteRule& rule : condition.sites) {
    if (!sites_of_rule(rule, sites).empty()) continue;
    std::vector<std::string> names = names_of_sites(sites, rule.kind);
    proposal.error({rule.field, rule.name,
                    fmt::format("{} has no such place", network.class_name()),
                    names.empty() ? "use another guider" : suggest(rule.name, names)});
  }
}

std::set<std::string> input_names(const nn::DenoiserNetwork& network) {
  std::set<std::string> names;
  for (const nn::NetworkInput& input : network.inputs()) names.insert(input.name);
  return names;
}

// The two are given the same tensors and their predictions are combined.
void check_network(Proposal& proposal, const std::string& name, const nn::DenoiserNetwork& other,
                   const nn::DenoiserNetwork& own) {
  auto differs = [&](const char* what, int64_t has, int64_t wanted) {
    if (has == wanted) return;
    proposal.error({fmt::format("components.{}.{}", name, what), std::to_string(has),
                    fmt::format("the model's own network has {}", wanted),
                    "name a weaker network of the same model"});
  };
  differs("in_channels", other.in_channels(), own.in_channels());
  differs("out_channels", other.out_channels(), own.out_channels());
  differs("cross_attention_dim", other.context_dim(), own.context_dim());
  if (input_names(other) == input_names(own)) return;
  proposal.error({"components." + name, other.class_name(),
                  "it takes other inputs than the model's own network",
                  "name a weaker network of the same model"});
}

// The component of a block that takes part in each step, which is the first that it declares; null
// for other blocks.
const PortInfo* component_of_step(const Block& block) {
  if (!dynamic_cast<const StepBlock*>(&block)) return nullptr;
  auto it = std::ranges::find(block.ports(), PortInfo::Kind::component, &PortInfo::kind);
  return it == block.ports().end() ? nullptr : &*it;
}

// Blocks that take part in each step (control networks, image prompts) add to inner layers of
// whatever network is asked.
void check_controls(Proposal& proposal, const std::string& name, const nn::DenoiserNetwork& other,
                    const nn::DenoiserNetwork& own) {
  auto shape = [](const Param* param) { return param->shape; };
  if (std::ranges::equal(other.params(), own.params(), {}, shape, shape)) return;
  for (const auto& block : proposal.plan.blocks) {
    const PortInfo* component = component_of_step(*block);
    if (!component) continue;
    proposal.error({"components." + name, other.class_name(),
                    fmt::format("its layers are not shaped as those that components.{} acts on",
                                component->name),
                    "name a weaker network of the same layers, or remove the control"});
    return;
  }
}

}  // namespace

SitePlan plan_sites(const Condition& condition, const nn::DenoiserNetwork& network) {
  SitePlan plan;
  std::vector<Site> sites = nn::sites_of(network);
  for (const SiteRule& rule : condition.sites) {
    for (const std::string& path : sites_of_rule(rule, sites)) plan.set(path, rule.change);
  }
  return plan;
}

void check_guidance(Proposal& proposal, const LoadedPipeline& pipeline, const std::string& own) {
  if (!proposal.guider) return;  // it was refused
  const auto& network = pipeline.get<nn::DenoiserNetwork>(own);
  for (const Condition& condition : proposal.guider->conditions()) {
    const auto& asked =
        condition.network.empty() ? network : pipeline.get<nn::DenoiserNetwork>(condition.network);
    if (&asked != &network) {
      check_network(proposal, condition.network, asked, network);
      check_controls(proposal, condition.network, asked, network);
    }
    check_sites(proposal, condition, asked);
  }
}

double noise_to_signal(const Scheduler& scheduler, size_t index) {
  Tensor none = at::zeros({1}, at::kFloat), one = at::ones({1}, at::kFloat);
  double noise = scheduler.add_noise(none, one, index).item<double>();
  double signal = scheduler.add_noise(one, none, index).item<double>();
  return noise / signal;
}

}  // namespace omnirt::blocks
