#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/say.hpp"
#include "io/file.hpp"

namespace omnirt::cli {
namespace {

struct GenerateFlags {
  Session* session = nullptr;
  std::unique_ptr<RequestOptions> options;
  std::string report_path;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
};

void write_report(const GenerateFlags& flags, const RunReport& report) {
  Json json = report.to_json();
  if (!flags.report_path.empty()) io::write_file(flags.report_path, json.dump(2) + "\n");
  if (flags.json) say_json(json);
}

int dry_run(const GenerateFlags& flags, const GenerateRequest& request) {
  auto checked = flags.session->check(request, flags.options->strict());
  say_json(checked.settled);
  print_warnings(checked.warnings);
  print_errors(checked.errors);
  return checked.ok ? 0 : 2;
}

int generate(const GenerateFlags& flags) {
  GenerateRequest request = flags.options->request();
  // Whether the report can be written is known before the run.
  if (!flags.report_path.empty()) io::AtomicFile(flags.report_path);
  flags.session->confine(flags.options->confine());
  if (flags.dry_run) return dry_run(flags, request);
  CancelToken cancel;
  Stoppable stoppable(cancel);
  Progress progress(flags.quiet);
  RunReport report;
  try {
    flags.session->run(request, flags.options->strict(), cancel, std::ref(progress), report);
  } catch (const Error& error) {
    progress.finish();
    print_warnings(report.warnings);
    write_report(flags, report);
    return print_error(error);
  }
  progress.finish();
  print_warnings(report.warnings);
  write_report(flags, report);
  if (!flags.json) {
    for (const ArtifactReport& artifact : report.artifacts) say("{}\n", artifact.path);
    if (!report.state.empty()) say("{}\n", report.state);
  }
  return 0;
}

int validate(const GenerateFlags& flags) {
  flags.session->confine(flags.options->confine());
  auto checked = flags.session->check(flags.options->request(), flags.options->strict());
  if (flags.json) {
    say_json(checked.settled);
    return checked.ok ? 0 : 2;
  }
  say("{}\n", checked.ok ? "ok" : "not ok");
  for (const char* field : {"task", "model", "model_path", "backend", "workflow"}) {
    say("{:<24} {}\n", field, checked.settled[field].get<std::string>());
  }
  if (const Json& file = checked.settled["single_file"]; file.is_object()) {
    say("{:<24} {}\n", "single_file", file["kind"].get<std::string>());
    for (const Json& each : file["decided"]) {
      say("  {:<22} {} ({})\n", each["what"].get<std::string>(), each["value"].get<std::string>(),
          each["how"].get<std::string>());
    }
  }
  for (const auto& [name, value] : checked.settled["config"].items()) {
    say("{:<24} {} ({})\n", name, value["value"].dump(), value["origin"].get<std::string>());
  }
  print_warnings(checked.warnings);
  print_errors(checked.errors);
  return checked.ok ? 0 : 2;
}

}  // namespace

void add_generate(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<GenerateFlags>();
  flags->session = &session;
  CLI::App* command = app.add_subcommand("generate", "make pictures from a request");
  flags->options = std::make_unique<RequestOptions>(*command, flags->session->keys(),
                                                    flags->session->model_defaults());
  command->add_flag("--dry-run", flags->dry_run,
                    "check everything, print what would run, run nothing");
  command->add_flag("--json", flags->json, "print the whole report on standard output");
  command->add_option("--report", flags->report_path, "file to write the report to");
  command->add_flag("-q,--quiet", flags->quiet, "no progress");
  command->callback([flags, &run] { run = [flags] { return generate(*flags); }; });
}

void add_validate(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<GenerateFlags>();
  flags->session = &session;
  CLI::App* command = app.add_subcommand("validate", "check a request without running it");
  flags->options = std::make_unique<RequestOptions>(*command, flags->session->keys(),
                                                    flags->session->model_defaults());
  command->add_flag("--json", flags->json, "print the result as JSON");
  command->callback([flags, &run] { run = [flags] { return validate(*flags); }; });
}

}  // namespace omnirt::cli
