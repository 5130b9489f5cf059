#include <fmt/format.h>

#include <memory>

#include "base/byte_size.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/profile_table.hpp"
#include "cli/progress.hpp"
#include "cli/say.hpp"
#include "io/file.hpp"

namespace omnirt::cli {
namespace {

struct GenerateFlags {
  Session* session = nullptr;
  std::unique_ptr<RequestOptions> options;
  std::string report_path;
  std::string upscaled;  // of `omnirt upscale`: the image that becomes larger
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
};

GenerateRequest request_of(const GenerateFlags& flags) {
  GenerateRequest request = flags.options->request();
  if (flags.upscaled.empty()) return request;
  request.task = "upscale";
  request.inputs["image"] = flags.upscaled;
  request.say("inputs.image");
  return request;
}

void write_report(const GenerateFlags& flags, const RunReport& report) {
  Json json = report.to_json();
  if (!flags.report_path.empty()) io::write_file(flags.report_path, json.dump(2) + "\n");
  if (flags.json) say_json(json);
}

std::string size_of(uint64_t bytes) {
  return shown_byte_size(bytes);
}

void print_peak(const char* of, const PlannedSpaceReport& plan) {
  say("{:<24} {} predicted, {} budget; most in block {}\n", of, size_of(plan.predicted_peak_bytes),
      plan.budget_bytes ? size_of(*plan.budget_bytes) : "no", plan.at_block);
}

void print_component(const PlannedComponentReport& each) {
  say("  {:<22} {} of weights{}, offload {}", each.name, size_of(each.bytes),
      each.storage_dtype.empty() ? "" : " kept as " + each.storage_dtype, name_of(each.offload));
  if (each.groups > 0)
    say(" ({} groups), {} at a time, {} read per call", each.groups, size_of(each.resident_bytes),
        size_of(each.moved_bytes_per_call));
  if (each.prefetch_groups == 0) say(", none ahead");
  say("\n");
}

// What is in memory when.
void print_memory_plan(const MemoryPlanReport& plan,
                       const std::string& of_device = "device memory") {
  print_peak(plan.device.empty() ? "memory" : of_device.c_str(), plan);
  if (plan.process) print_peak("process memory", *plan.process);
  for (const PlannedComponentReport& each : plan.components) print_component(each);
  for (const PlannedStage& each : plan.stages) {
    say("  {:<22} {} of weights, {} of tensors{}\n", each.block, size_of(each.weight_bytes),
        size_of(each.tensor_bytes), each.component.empty() ? "" : " (" + each.component + ")");
  }
  if (!plan.device.empty() && plan.moved_bytes_per_step > 0)
    say("  {:<22} {} of weights per step, from the host\n", "copied",
        size_of(plan.moved_bytes_per_step));
  for (const MemoryPlanReport& each : plan.others) print_memory_plan(each, each.device + " memory");
}

std::string cost_of(const ReadingReport::Source& source) {
  const double cost = source.cost_s_per_step;
  return fmt::format("{}/s, {}", size_of(static_cast<uint64_t>(source.bytes_per_s)),
                     cost > 0 ? fmt::format("costs about {:.2g} s per step", cost)
                              : "expected to be hidden behind the computation");
}

// What reading weights at each step costs.
void print_reading(const ReadingReport& reading) {
  say("  {:<22} {} of weights per step, {:.2g} s of computation (estimated)\n", "reading",
      size_of(reading.bytes_per_step), reading.compute_s_per_step);
  say("  {:<22} {}\n", "  from the disk",
      reading.from_disk ? cost_of(*reading.from_disk) : reading.note);
  if (reading.from_page_cache)
    say("  {:<22} {}\n", "  from the page cache", cost_of(*reading.from_page_cache));
}

void print_settled(const CheckReport& checked) {
  say("{}\n", checked.ok ? "ok" : "not ok");
  const std::pair<const char*, const std::string&> fields[] = {{"task", checked.task},
                                                               {"model", checked.model},
                                                               {"model_path", checked.model_path},
                                                               {"device", checked.device},
                                                               {"workflow", checked.workflow}};
  for (const auto& [name, value] : fields) say("{:<24} {}\n", name, value);
  if (checked.single_file) {
    say("{:<24} {}\n", "single_file", checked.single_file->kind);
    for (const SingleFileDecision& each : checked.single_file->decisions)
      say("  {:<22} {} ({})\n", each.what, each.value, each.how);
  }
  for (const auto& [name, value] : checked.inputs_resolved.items())
    say("{:<24} {}\n", name, value.dump());
  for (const auto& [name, value] : checked.config_resolved.all())
    say("{:<24} {} ({})\n", name, value.value.dump(), to_string(value.origin));
  if (!checked.memory_plan) return;
  print_memory_plan(*checked.memory_plan);
  if (checked.memory_plan->reading) print_reading(*checked.memory_plan->reading);
}

// What would run, and everything that is wrong with it; `generate --dry-run` and `validate` are the
// same.
int check(const GenerateFlags& flags) {
  GenerateRequest request = request_of(flags);
  flags.session->confine(flags.options->confine());
  const CheckReport checked = flags.session->check(request, flags.options->strict());
  if (flags.json)
    say_json(checked.to_json());
  else
    print_settled(checked);
  const FlagNames& fields = flags.options->fields();
  print_warnings(fields.in_flags(checked.warnings));
  print_errors(fields.in_flags(checked.errors));
  return checked.ok ? 0 : 2;
}

// By which noise the images were made, so that one of them can be made again.
void print_seed(const GenerateFlags& flags, const RunReport& report) {
  const ConfigValue* seed = report.config_resolved.find("seed");
  if (flags.quiet || !seed || report.artifacts.empty()) return;
  const uint64_t first = report.artifacts.front().seed, last = report.artifacts.back().seed;
  if (first == last) return note("seed {}\n", first);
  note("seeds {} to {}\n", first, last);
}

void print_artifacts(const RunReport& report) {
  for (const ArtifactReport& artifact : report.artifacts) say("{}\n", artifact.path);
  if (!report.state.empty()) say("{}\n", report.state);
}

int run(const GenerateFlags& flags, const GenerateRequest& request) {
  CancelToken cancel;
  Stoppable stoppable(cancel);
  Progress progress(flags.quiet);
  RunReport report;
  const FlagNames& fields = flags.options->fields();
  try {
    flags.session->run(request, flags.options->strict(), cancel,
                       {.on_progress = std::ref(progress)}, report);
  } catch (const Error& error) {
    progress.finish();
    print_warnings(fields.in_flags(report.warnings));
    write_report(flags, report);
    return print_error(error, fields);
  }
  progress.finish();
  print_warnings(fields.in_flags(report.warnings));
  print_seed(flags, report);
  if (!flags.quiet && !flags.json) note("{}", profile_tables(report));
  write_report(flags, report);
  if (!flags.json) print_artifacts(report);
  return 0;
}

int generate(const GenerateFlags& flags) {
  GenerateRequest request = request_of(flags);
  // Whether the report can be written is known before the run.
  if (!flags.report_path.empty()) io::AtomicFile(flags.report_path);
  flags.session->confine(flags.options->confine());
  flags.options->use_threads();
  return run(flags, request);
}

}  // namespace

namespace {

std::shared_ptr<GenerateFlags> add_run(CLI::App& app, Run& run, Session& session, const char* name,
                                       const char* summary) {
  auto flags = std::make_shared<GenerateFlags>();
  flags->session = &session;
  RequestCommand* command = &RequestCommand::add(app, name, summary);
  flags->options = std::make_unique<RequestOptions>(*command, session.keys());
  CLI::Option* dry_run =
      command->add_flag("--dry-run", flags->dry_run,
                        "check the request and print what would run, as `omnirt validate` does");
  command->add_flag("--json", flags->json,
                    "print the whole report as JSON; with --dry-run, what would run");
  command->add_option("--report", flags->report_path, "write the report to this file, as JSON")
      ->type_name("FILE")
      ->excludes(dry_run);
  command->add_flag("-q,--quiet", flags->quiet, "print no progress and no seed");
  command->callback([flags, &run] {
    run = [flags] {
      return with_flag_names(flags->options->fields(),
                             [&] { return flags->dry_run ? check(*flags) : generate(*flags); });
    };
  });
  return flags;
}

}  // namespace

void add_generate(CLI::App& app, Run& run, Session& session) {
  add_run(app, run, session, "generate", "make images from a request");
}

void add_upscale(CLI::App& app, Run& run, Session& session) {
  auto flags =
      add_run(app, run, session, "upscale", "make an image larger by the upscaler of --model");
  app.get_subcommand("upscale")
      ->add_option("image_file", flags->upscaled, "the image")
      ->required()
      ->type_name("FILE");
}

void add_validate(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<GenerateFlags>();
  flags->session = &session;
  RequestCommand* command =
      &RequestCommand::add(app, "validate",
                           "check a request and print what would run, each value with its origin "
                           "(the same as generate --dry-run)");
  flags->options = std::make_unique<RequestOptions>(*command, session.keys());
  command->add_flag("--json", flags->json,
                    "print what would run as JSON, with errors and warnings");
  command->callback([flags, &run] {
    run = [flags] {
      return with_flag_names(flags->options->fields(), [&] { return check(*flags); });
    };
  });
}

}  // namespace omnirt::cli
