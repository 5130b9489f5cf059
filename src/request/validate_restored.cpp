// What a state holds: its values brought back, each checked by itself, then compared with the
// shapes of their ports, each other and the request.
#include <ATen/ops/isfinite.h>
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/compute_type.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/schedule.hpp"
#include "pipeline/symbol_sizes.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

void refuse_value(Proposal& proposal, const std::string& name, const InvalidRequest& thrown) {
  const Finding& finding = thrown.findings().front();
  std::string what = finding.field.empty() ? "" : finding.field + ": ";
  refuse_state(proposal, fmt::format("its value '{}': {}{}", name, what, finding.message));
}

// Images and generators are bytes; all else is finite numbers, in fp32 or in the type that the
// run computes in.
void check_numbers(const Proposal& proposal, const SavedValue& saved) {
  at::ScalarType computed = scalar_type(proposal.config.get(keys::dtype));
  for (const auto& [name, tensor] : saved.tensors) {
    at::ScalarType type = tensor.scalar_type();
    if (type == at::kByte) continue;
    if (type != at::kFloat && type != computed)
      SavedValue::refuse(fmt::format("of type {}, where {} is expected", c10::toString(type),
                                     c10::toString(at::kFloat)));
    if (!at::isfinite(tensor).all().item<bool>())
      SavedValue::refuse("holds infinities, or what is no number");
  }
}

// Brings the state's values back, each of the type of the port that reads it.
class Restorer {
 public:
  Restorer(Proposal& proposal, size_t cut)
      : proposal_(proposal),
        needed_(values_across(proposal.plan, cut, proposal.guider->conditions())) {}

  void restore() {
    for (const SavedRun::Value& value : proposal_.resumed->values) {
      try {
        take(value);
      } catch (const InvalidRequest& thrown) {
        refuse_value(proposal_, value.name, thrown);
      }
    }
    for (const auto& [name, port] : needed_) {
      bool wanted = port->kind == PortInfo::Kind::input || port->kind == PortInfo::Kind::inout;
      if (wanted && port->name == name) require(name);
    }
  }

 private:
  void take(const SavedRun::Value& value) {
    auto needed = needed_.find(value.name);
    bool wanted = needed != needed_.end() && needed->second->codec;
    if (!wanted || needed->second->codec->type != value.type)
      SavedValue::refuse(fmt::format("({}) is none that a later block reads", value.type));
    check_numbers(proposal_, value.saved);
    std::any loaded = needed->second->codec->load(value.saved, *proposal_.catalogue);
    note_size(value.name, loaded);
    proposal_.restored[value.condition][value.name] = std::move(loaded);
  }

  // Later blocks may look at an image's size.
  void note_size(const std::string& name, const std::any& value) {
    const Json& inputs = proposal_.request.inputs;
    std::string path =
        inputs.contains(name) && inputs[name].is_string() ? inputs[name].get<std::string>() : "";
    auto noted = [&](const io::Image& image) {
      return ImageInput{path, {io::ImageFormat::png, image.width, image.height, image.channels}};
    };
    if (const auto* image = std::any_cast<io::Image>(&value)) {
      proposal_.images[name] = noted(*image);
    } else if (const auto* list = std::any_cast<std::vector<io::Image>>(&value)) {
      for (const io::Image& each : *list) proposal_.image_lists[name].push_back(noted(each));
    }
  }

  // Shared, or there for each condition.
  void require(const std::string& name) {
    if (proposal_.restored[""].contains(name)) return;
    std::vector<Condition> all = proposal_.guider->conditions();
    for (const Condition& condition : all) {
      if (proposal_.restored[first_of_inputs(all, condition).name].contains(name)) continue;
      return refuse_state(proposal_, fmt::format("its value '{}' is missing", name));
    }
  }

  Proposal& proposal_;
  std::map<std::string, const PortInfo*> needed_;
};

// The shape that the maker of a value declares, else its reader.
const std::vector<std::string>& shape_of(const Proposal& proposal, const std::string& name,
                                         const PortInfo& read) {
  const PortInfo* maker = maker_of(proposal.plan, proposal.part.first, name);
  return maker ? maker->shape : read.shape;
}

// The schedule is the one that the request says, as far as it goes, and what its scheduler
// remembers is of the samples that it steps.
void check_schedule(const Proposal& proposal, const Schedule& walk) {
  const SchedulerOrigin& origin = walk.scheduler->origin();
  auto steps = proposal.config.maybe(keys::num_inference_steps);
  if (!proposal.scheduler.info || origin.class_name != proposal.scheduler.info->class_name ||
      origin.config != proposal.scheduler.config)
    SavedValue::refuse(
        fmt::format("walked by {} with another config than the request's", origin.class_name));
  if (steps && walk.scheduler->plan().num_inference_steps != *steps)
    SavedValue::refuse(fmt::format("a schedule of {} steps, where the request has {}",
                                   walk.scheduler->plan().num_inference_steps, *steps));
  const StepPlan& plan = walk.scheduler->plan();
  if (plan.timesteps != proposal.scheduler.timesteps || plan.sigmas != proposal.scheduler.sigmas)
    SavedValue::refuse("a walk through other levels than the request's");
  History history(History::Mode::save);
  walk.scheduler->visit_history(history);
  auto shared = proposal.restored.find("");
  const Tensor* latents = nullptr;
  if (shared != proposal.restored.end() && shared->second.contains("latents"))
    latents = std::any_cast<Tensor>(&shared->second.at("latents"));
  for (const auto& [name, list] : history.tensors) {
    for (const Tensor& tensor : list) {
      if (!latents || !latents->defined() || tensor.sizes() != latents->sizes())
        SavedValue::refuse(fmt::format("its history '{}' is not of the latents' shape", name));
    }
  }
}

void check_against_port(const Proposal& proposal, SymbolSizes& symbols, const std::string& name,
                        const PortInfo& read, const std::any& value) {
  if (const auto* walk = std::any_cast<Schedule>(&value)) check_schedule(proposal, *walk);
  const auto* tensor = std::any_cast<Tensor>(&value);
  if (tensor && !tensor->defined()) {
    if (read.may_be_undefined) return;  // its block's own checks say whether in this run
    SavedValue::refuse("is left out, and the run cannot continue without it");
  }
  const std::vector<std::string>& shape = shape_of(proposal, name, read);
  if (shape.empty() || !read.codec->sizes) return;
  symbols.check(shape, read.codec->sizes(value), name);
}

// What says the sizes of values; a state that was tampered with may leave it out.
void require_sides(Proposal& proposal) {
  for (const Key<int64_t>* side : {&keys::width, &keys::height}) {
    bool used = std::ranges::any_of(proposal.plan.blocks, [&](const auto& block) {
      return std::ranges::any_of(block->ports(), [&](const PortInfo& port) {
        return port.kind == PortInfo::Kind::config && port.name == side->name;
      });
    });
    if (!used || proposal.config.maybe(*side)) continue;
    refuse_state(proposal, fmt::format("it does not say config.{}", side->name));
  }
}

}  // namespace

void restore_values(Proposal& proposal) {
  if (proposal.resumed && proposal.ok()) Restorer(proposal, proposal.part.first).restore();
}

void check_restored(Proposal& proposal) {
  if (proposal.resumed && proposal.ok()) require_sides(proposal);
  if (!proposal.resumed || !proposal.ok()) return;
  SymbolSizes symbols;
  try {
    for (const auto& block : proposal.plan.blocks)
      block->tell_sizes(proposal.checks_of(*block), symbols);
  } catch (const InvalidRequest& thrown) {
    return proposal.take(thrown);
  }
  auto needed = values_across(proposal.plan, proposal.part.first, proposal.guider->conditions());
  for (const auto& [condition, values] : proposal.restored) {
    // Conditions may have texts of other lengths, each its own; what they share comes first, as "".
    SymbolSizes of_condition = symbols;
    SymbolSizes& sizes = condition.empty() ? symbols : of_condition;
    for (const auto& [name, value] : values) {
      try {
        check_against_port(proposal, sizes, name, *needed.at(name), value);
      } catch (const InvalidRequest& thrown) {
        refuse_value(proposal, name, thrown);
      }
    }
  }
}

}  // namespace omnirt::validation
