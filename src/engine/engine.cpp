#include "engine/engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <new>
#include <random>

#include "base/clock.hpp"
#include "engine/attach_adapters.hpp"
#include "engine/load_component.hpp"
#include "engine/planned_memory.hpp"
#include "io/lost_pages.hpp"
#include "pipeline/compute_type.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/validated_request.hpp"
#include "runtime/binding.hpp"
#include "tensor/host_state.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

std::string new_run_id() {
  std::random_device device;
  return fmt::format("{:08x}{:04x}", device(), device() & 0xffff);
}

// The threads that libtorch has started for a run are not in a child of its process, which would
// wait for them forever.
void refuse_in_forked_child() {
  static std::atomic<pid_t> computing{0};
  pid_t first = 0;
  if (computing.compare_exchange_strong(first, getpid()) || first == getpid()) return;
  throw RunFailed(
      "this process was forked from one that had already run a model, and the threads that compute "
      "do not exist in it; fork before the first run, or start processes afresh "
      "(multiprocessing's \"spawn\" or \"forkserver\")");
}

// A plan counts each weight once, so kernels keep no packed forms where memory is limited.
PackPolicy pack_policy(const Proposal& proposal) {
  return proposal.limits_memory() ? PackPolicy::never : proposal.config.get(keys::pack);
}

PlanFacts plan_facts(const Proposal& proposal) {
  return {.dtype = scalar_type(proposal.config.get(keys::dtype)),
          .pack = pack_policy(proposal),
          .quantization = proposal.config.get(keys::quantize),
          .precision = proposal.config.get(keys::matmul_precision)};
}

// Writes into a report how its networks were run, however the run ended.
class LevelsTold {
 public:
  LevelsTold(const LevelRuns& levels, RunReport& report) : levels_(levels), report_(report) {}
  LevelsTold(const LevelsTold&) = delete;
  LevelsTold& operator=(const LevelsTold&) = delete;
  ~LevelsTold() { levels_.describe(report_); }

 private:
  const LevelRuns& levels_;
  RunReport& report_;
};

uint64_t stored_bytes(const LoadedPipeline& pipeline) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components()) {
    if (component->store) bytes += component->store->bytes();
  }
  return bytes;
}

RunFacts run_facts(const Proposal& proposal, const DeviceId& device) {
  return {
      .components = proposal.networks_on(device),
      .model = {proposal.spec->id, proposal.family->name, proposal.spec->resource_hint.min_vram_gb},
      .task = proposal.task,
      .config = proposal.config,
      .plan = plan_facts(proposal)};
}

std::vector<Finding> findings_of(const Error& error) {
  const auto* invalid = dynamic_cast<const InvalidRequest*>(&error);
  return invalid ? invalid->findings() : std::vector<Finding>{};
}

OutOfMemory out_of_memory(const std::string& what) {
  return OutOfMemory("the machine has no more memory for this request (" + what +
                     "); make fewer or smaller images");
}

void check_block(const Block& block, Proposal& proposal, const LoadedPipeline& pipeline) {
  for (const PortInfo& port : block.ports()) {
    if (port.require) port.require(pipeline, port.name);
  }
  Checks checks = proposal.checks_of(block, &pipeline);
  block.check_loaded(checks);
}

}  // namespace

Engine::Engine(Catalogue catalogue) : catalogue_(std::move(catalogue)) {}
Engine::~Engine() = default;

EngineDevice& Engine::device(const DeviceId& id) {
  std::scoped_lock lock(mutex_);
  EngineDevice& device = devices_[id];
  if (!device.backend) device.backend = make_backend(catalogue_.backends, id);
  return device;
}

std::vector<EngineDevice*> Engine::devices_of(const Proposal& proposal) {
  std::vector<EngineDevice*> all;
  for (const DeviceId& id : proposal.devices()) all.push_back(&device(id));
  return all;
}

std::shared_ptr<LoadedComponent> Engine::load_component(const Proposal& proposal,
                                                        const ComponentFolder& folder) {
  ComponentKey key{folder, proposal.device_of(folder.name), plan_facts(proposal),
                   proposal.family->upcasts_autoencoder, proposal.storage_of(folder.name)};
  if (auto known = components_.find(key)) return known;
  Backend& backend = *device(key.device).backend;
  auto made = omnirt::load_component(catalogue_, backend, key);
  const ComputeForm form = backend.compute_form(Level::compile, key.facts);
  components_.make_room(key.device, made->store ? held_bytes(*made->store, form) : 0, [&] {
    return static_cast<uint64_t>(backend.available_memory_gb() * (1 << 30));
  });
  return components_.keep(key, std::move(made));
}

std::shared_ptr<LoadedPipeline> Engine::load(const Proposal& proposal) {
  auto pipeline = std::make_shared<LoadedPipeline>();
  std::vector<Finding> findings;
  for (const DeviceId& id : proposal.devices())
    device(id).backend->prepare(run_facts(proposal, id));
  for (const std::string& name : proposal.plan.components) {
    if (name == keys::scheduler.name) continue;
    try {
      pipeline->add(name, load_component(proposal, *proposal.folder.find(name)));
    } catch (const InvalidRequest& thrown) {
      findings.insert(findings.end(), thrown.findings().begin(), thrown.findings().end());
    }
  }
  if (!findings.empty()) throw InvalidRequest(std::move(findings));
  return pipeline;
}

// Its blocks were checked with the same topologies, and its warnings tell of that.
void Engine::load_validated(Proposal& proposal, std::shared_ptr<LoadedPipeline>& into) {
  const std::vector<Finding> warnings = proposal.warnings;
  proposal.adapter_reports.clear();
  try {
    into = load(proposal);
    attach_adapters(proposal, *into);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
  proposal.warnings = warnings;
}

Proposal Engine::settle(const GenerateRequest& request, const ValidateOptions& options,
                        std::shared_ptr<LoadedPipeline>& into) {
  if (options.validated) {
    if (const Proposal* known = options.validated->find(request, options)) {
      Proposal proposal = *known;
      load_validated(proposal, into);
      return proposal;
    }
  }
  ValidateOptions knowing = options;
  knowing.networks = &networks_;
  Proposal proposal = validate(catalogue_, request, knowing);
  if (!proposal.ok()) return proposal;
  try {
    into = load(proposal);
    attach_adapters(proposal, *into);
    for (size_t i = 0; i < proposal.part.end; ++i) {
      const Block& block = *proposal.plan.blocks[i];
      // A step block is checked with the loop that it serves, and with the loop's network.
      bool elsewhere = as_step(block) && !has_loop(proposal.plan, proposal.part);
      if (!elsewhere && takes_part(proposal.plan, proposal.part, i))
        check_block(block, proposal, *into);
    }
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
  return proposal;
}

Proposal Engine::check(const GenerateRequest& request, const ValidateOptions& options,
                       std::shared_ptr<const ValidatedRequest>* keep) {
  const ComputeScope whatever_the_host_does;
  std::shared_ptr<LoadedPipeline> pipeline;
  Proposal proposal = settle(request, options, pipeline);
  // Without the memory plan: how much memory is free is found out again by the run.
  if (keep && proposal.ok())
    *keep = std::make_shared<const ValidatedRequest>(proposal, request, options);
  if (proposal.ok()) plan_memory(proposal, *pipeline);
  LevelPolicy policy = proposal.ok() ? proposal.levels() : LevelPolicy{};
  if (!policy.only && !policy.required) return proposal;
  try {
    LevelRuns(*pipeline, {.policy = policy}).check();
  } catch (const RunFailed& refused) {
    auto key = policy.only ? keys::level.name : keys::require_level.name;
    Level level = policy.only ? *policy.only : *policy.required;
    proposal.error({std::string("config.") + key, to_string(level), refused.what(), ""});
  }
  return proposal;
}

// Nothing is planned where all simply stays. What cannot be kept is the proposal's error.
std::map<std::string, Residency> Engine::plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                                     const CancelToken* cancel) {
  auto made = omnirt::plan_memory(proposal, pipeline, cancel);
  if (made && !made->fits() && components_.drop_idle() > 0)
    made = omnirt::plan_memory(proposal, pipeline, cancel);
  if (!made) return {};
  refuse_unfit(proposal, *made);
  proposal.memory_plan = std::move(made->report);
  return made->residency();
}

void Engine::run(const GenerateRequest& request, const ValidateOptions& options,
                 const RunHooks& hooks, RunReport& report) {
  double start = now_ms();
  report.begun_ms = options.single_run ? start - process_age_ms() : start;
  report.run_id = new_run_id();
  // Enters an error into the report and returns it to be thrown.
  auto told = [&](const auto& error) {
    report.error = ErrorReport{error.kind(), error.what(), findings_of(error)};
    report.total_ms = now_ms() - start;
    return error;
  };
  try {
    refuse_in_forked_child();
    const ComputeScope whatever_the_host_does;
    run_whole(request, options, hooks, report);
  } catch (const Error& error) {
    told(error);
    throw;
  } catch (const std::bad_alloc&) {
    throw told(out_of_memory("the allocator has none left"));
  } catch (const std::exception& thrown) {
    if (is_out_of_memory(thrown)) throw told(out_of_memory(reason_of(thrown)));
    throw told(RunFailed(reason_of(thrown)));
  }
  report.total_ms = now_ms() - start;
}

// Whatever goes wrong with zeros in the place of lost pages, the loss is the reason.
void Engine::run_whole(const GenerateRequest& request, const ValidateOptions& options,
                       const RunHooks& hooks, RunReport& report) {
  io::LostPages files;
  try {
    run_checked(request, options, hooks, report);
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception&) {
    files.check();
    throw;
  }
}

void Engine::run_checked(const GenerateRequest& request, const ValidateOptions& options,
                         const RunHooks& hooks, RunReport& report) {
  double start = now_ms();
  MemoryAccount account;
  MemoryAccount::Scope charged(account);
  io::LostPages files;
  std::shared_ptr<LoadedPipeline> pipeline;
  Proposal proposal = settle(request, options, pipeline);
  std::map<std::string, Residency> residency;
  if (proposal.ok()) residency = plan_memory(proposal, *pipeline, hooks.cancel);
  static_cast<SettledReport&>(report) = proposal.settled_report();
  report.memory.plan = proposal.memory_plan;
  if (proposal.resumed) report.resumed_from = proposal.config.maybe(keys::resume).value_or("");
  if (!proposal.ok()) throw InvalidRequest(proposal.errors);
  report.load_ms = now_ms() - start;
  for (const std::string& name : proposal.plan.components) {
    if (pipeline->find(name)) report.components_loaded.push_back(name);
  }
  report.memory.weights_stored_bytes = stored_bytes(*pipeline);
  LevelRuns levels(*pipeline, {.policy = proposal.levels(),
                               .total = &fallbacks_,
                               .trace = proposal.config.get(keys::profile),
                               .residency = std::move(residency),
                               .shared_turn = hooks.shared_turn,
                               .remembers = !options.single_run});
  LevelsTold told(levels, report);
  levels.check();
  const RunDevices devices(proposal, devices_of(proposal));
  if (!proposal.adapters.empty()) {
    double merging = now_ms();
    levels.apply_overlays();
    report.adapters_ms = now_ms() - merging;
  }
  levels.make_room();
  files.check();
  execute(proposal, *pipeline, levels, hooks, report);
  devices.report_memory(report);
}

}  // namespace omnirt
