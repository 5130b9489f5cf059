#include "blocks/guidance.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "nn/network.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {
namespace {

void check_sites(Checks& checks, const Condition& condition, const nn::DenoiserNetwork& network) {
  std::vector<Site> sites = nn::sites_of(network);
  for (const SiteRule& rule : condition.sites) {
    if (!sites_of_rule(rule, sites).empty()) continue;
    std::vector<std::string> names = names_of_sites(sites, rule.kind);
    checks.error({rule.field, rule.name, fmt::format("{} has no such place", network.class_name()),
                  names.empty() ? "use another guider" : suggest(rule.name, names)});
  }
}

std::set<std::string> input_names(const nn::DenoiserNetwork& network) {
  std::set<std::string> names;
  for (const nn::NetworkInput& input : network.inputs()) names.insert(input.name);
  return names;
}

// The two are given the same tensors and their predictions are combined.
void check_network(Checks& checks, const std::string& name, const nn::DenoiserNetwork& other,
                   const nn::DenoiserNetwork& own) {
  auto differs = [&](const char* what, int64_t has, int64_t wanted) {
    if (has == wanted) return;
    checks.error({fmt::format("components.{}.{}", name, what), std::to_string(has),
                  fmt::format("the model's own network has {}", wanted),
                  "name a weaker network of the same model"});
  };
  differs("in_channels", other.in_channels(), own.in_channels());
  differs("out_channels", other.out_channels(), own.out_channels());
  differs("cross_attention_dim", other.context_dim(), own.context_dim());
  if (input_names(other) == input_names(own)) return;
  checks.error({"components." + name, other.class_name(),
                "it takes other inputs than the model's own network",
                "name a weaker network of the same model"});
}

// Blocks that take part in each step (control networks, image prompts) add to inner layers of
// whatever network is asked: of the component that each declares first.
void check_controls(Checks& checks, const std::string& name, const nn::DenoiserNetwork& other,
                    const nn::DenoiserNetwork& own) {
  auto shape = [](const Param* param) { return param->shape; };
  if (std::ranges::equal(other.params(), own.params(), {}, shape, shape)) return;
  for (const StepBlock* block : checks.step_blocks()) {
    auto acts = std::ranges::find(block->ports(), PortInfo::Kind::component, &PortInfo::kind);
    if (acts == block->ports().end()) continue;
    checks.error(
        {"components." + name, other.class_name(),
         fmt::format("its layers are not shaped as those that components.{} acts on", acts->name),
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

void check_guidance(Checks& checks, const Component<nn::DenoiserNetwork>& own) {
  const nn::DenoiserNetwork& network = checks[own];
  for (const Condition& condition : checks.conditions()) {
    const nn::DenoiserNetwork& asked = checks.stand_in(own, condition.network);
    if (&asked != &network) {
      check_network(checks, condition.network, asked, network);
      check_controls(checks, condition.network, asked, network);
    }
    check_sites(checks, condition, asked);
  }
}

double noise_to_signal(const Scheduler& scheduler, size_t index) {
  Tensor none = at::zeros({1}, at::kFloat), one = at::ones({1}, at::kFloat);
  double noise = scheduler.add_noise(none, one, index).item<double>();
  double signal = scheduler.add_noise(one, none, index).item<double>();
  return noise / signal;
}

}  // namespace omnirt::blocks
