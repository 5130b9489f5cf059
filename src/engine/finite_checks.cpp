#include "engine/finite_checks.hpp"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/path_text.hpp"
#include "base/remembered.hpp"
#include "pipeline/compute_type.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"
#include "pipeline/run_keys.hpp"
#include "tensor/finite.hpp"

namespace omnirt {
namespace {

constexpr const char* not_finite = "holds a number that is not finite";
constexpr double largest_half = 65504;

// A number that fp16 cannot hold, where that is what the run computes in.
bool overflows_half(const Tensor& weight) {
  if (!weight.is_floating_point() || weight.numel() == 0) return false;
  const auto [low, high] = at::aminmax(weight.to(at::kFloat));
  return -low.item<double>() > largest_half || high.item<double>() > largest_half;
}

std::string place_of(const Proposal& proposal, const std::string& component) {
  const ComponentFolder* folder = proposal.folder.find(component);
  return folder ? path_text(folder->folder) : component;
}

// What the adapters of the run make of a weight.
void refuse_change(const Overlay& overlay, const std::string& component, const Param& param,
                   const Tensor& stored, const std::string& what) {
  const auto changed = overlay.changed.find(param.index);
  if (changed == overlay.changed.end()) return;
  const auto place = first_not_finite(changed->second(stored));
  if (!place) return;
  throw InvalidRequest(
      {"adapters", fmt::format("{}.{}", component, param.name),
       fmt::format("merging the adapters makes this weight not finite ({}): {}", *place, what),
       "lower their scale, or remove one of them"});
}

}  // namespace

FiniteChecks::FiniteChecks(const Proposal& proposal, const LoadedPipeline& pipeline,
                           RunReport& report)
    : proposal_(proposal),
      pipeline_(pipeline),
      report_(report),
      allowed_(proposal.config.get(keys::allow_nan)) {}

void FiniteChecks::step(const Block& loop, const Frame& frame, const LoopProgress& progress,
                        const Tensor& latents) {
  if (warned_) return;
  const auto place = first_not_finite(latents);
  if (!place) return;
  found(loop, frame,
        fmt::format("the latents are not finite after step {} of {} ({})", progress.step,
                    progress.steps, *place));
}

void FiniteChecks::block(const Block& block, const Frame& frame) {
  if (warned_) return;
  for (const PortInfo& port : block.ports()) {
    const bool made = port.kind == PortInfo::Kind::output || port.kind == PortInfo::Kind::inout;
    // A bias of attention's scores hides tokens by -infinity.
    if (!made || port.name == "attention_bias") continue;
    for (const auto& [condition, values] : frame.values()) {
      const auto value = values.find(port.name);
      const auto* tensor = value == values.end() ? nullptr : std::any_cast<Tensor>(&value->second);
      const auto place = tensor ? first_not_finite(*tensor) : std::nullopt;
      if (!place) continue;
      return found(
          block, frame,
          fmt::format("{} of the block {} is not finite ({})", port.name, block.name(), *place));
    }
  }
}

void FiniteChecks::tensor(const Block& block, const Frame& frame, const Tensor& made,
                          const std::string& what) {
  if (warned_) return;
  if (const auto place = first_not_finite(made))
    found(block, frame, fmt::format("{} is not finite ({})", what, *place));
}

std::set<std::string> FiniteChecks::components_of(const Block& block, const Frame& frame) const {
  std::set<std::string> names;
  auto add = [&](const Block& each) {
    for (const PortInfo& port : each.ports())
      if (port.kind == PortInfo::Kind::component) names.insert(port.name);
  };
  add(block);
  if (!as_loop(block)) return names;
  for (const StepBlock* step : frame.step_blocks()) add(*step);
  for (const Condition& condition : proposal_.guider->conditions()) names.insert(condition.network);
  return names;
}

void FiniteChecks::found(const Block& block, const Frame& frame, const std::string& what) {
  if (allowed_) {
    warned_ = true;
    report_.warnings.push_back({"config.allow_nan", "true", what, ""});
    return;
  }
  refuse(block, frame, what);
}

void FiniteChecks::refuse(const Block& block, const Frame& frame, const std::string& what) const {
  const std::set<std::string> components = components_of(block, frame);
  refuse_weights(components, what);
  throw RunFailed(overflow_text(components, what));
}

// The first weight that is not finite, as stored or as the run's adapters change it.
void FiniteChecks::refuse_weights(const std::set<std::string>& components,
                                  const std::string& what) const {
  for (const std::string& name : components) {
    const LoadedComponent* component = pipeline_.find(name);
    if (!component || !component->network || !component->store) continue;
    const auto overlay = pipeline_.overlay(name);
    for (const Param* param : component->network->params()) {
      const Weight& weight = *component->store->all().at(param->name);
      const Tensor stored = weight.view();
      if (const auto place = first_not_finite(stored)) {
        throw InvalidFile(
            {fmt::format("{}: tensor {}", place_of(proposal_, name), weight.name), "",
             fmt::format("a weight of {} {} ({}): {}", name, not_finite, *place, what),
             "get the file again, or use another one; config.allow_nan continues all the same"});
      }
      if (overlay) refuse_change(*overlay, name, *param, stored, what);
      if (weight.release) weight.release();
    }
  }
}

std::string FiniteChecks::overflow_text(const std::set<std::string>& components,
                                        const std::string& what) const {
  const ComputeType dtype = proposal_.config.get(keys::dtype);
  std::string text = what + ". ";
  std::vector<std::string> networks;
  for (const std::string& name : components) {
    const LoadedComponent* component = pipeline_.find(name);
    if (!component || !component->network || !component->store) continue;
    networks.push_back(name);
    if (scalar_type(dtype) != at::kHalf) continue;
    for (const auto& [param, weight] : component->store->all()) {
      if (!overflows_half(weight->view())) continue;
      return text + fmt::format(
                        "{} of {} holds numbers beyond {}, which fp16 cannot hold: set "
                        "dtype to bf16 or fp32",
                        weight->name, name, largest_half);
    }
  }
  if (networks.empty()) return text + "Set allow_nan to continue all the same";
  text += fmt::format("All weights of {} are finite, so the numbers grew too large during the run",
                      fmt::join(networks, ", "));
  return text + (scalar_type(dtype) == at::kFloat
                     ? "; check the scheduler, guidance_scale and the scales of adapters"
                     : fmt::format(" for {}: set dtype to fp32", name_of(dtype)));
}

void check_finite(Proposal& proposal, const AdapterChoice& choice) {
  static Remembered<std::vector<Finding>> known(64);
  const adapters::AdapterFile& file = *choice.file;
  auto findings = known.find(file.identity);
  if (!findings) {
    findings.emplace();
    auto look = [&](const io::FoundTensor& tensor) {
      if (auto place = first_not_finite(weight_of(tensor).view()))
        findings->push_back(
            {fmt::format("{}: tensor {}", path_text(file.path), tensor.entry->name), "",
             fmt::format("{} ({})", not_finite, *place),
             "use another file of the adapter; config.allow_nan continues all the same"});
    };
    for (const adapters::FileLayer& layer : file.layers)
      for (const auto& [part, tensor] : layer.parts) look(tensor);
    for (const adapters::FileToken& token : file.tokens) look(token.vectors);
    known.keep(file.identity, *findings);
  }
  constexpr size_t most = 4;
  for (size_t i = 0; i < std::min(most, findings->size()); ++i) {
    Finding finding = (*findings)[i];
    if (i + 1 == most && findings->size() > most)
      finding.message += fmt::format(", as do {} more tensors", findings->size() - most);
    if (proposal.config.get(keys::allow_nan))
      proposal.warn(finding);
    else
      proposal.error(finding);
  }
}

}  // namespace omnirt
