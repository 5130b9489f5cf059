#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/redis_flags.hpp"
#include "cli/serving.hpp"
#include "cli/signals.hpp"
#include "serve/broker/worker.hpp"
#include "serve/http.hpp"

namespace omnirt::cli {
namespace {

struct WorkerFlags {
  Session* session = nullptr;
  serve::WorkerOptions options;
  RedisFlags redis;
  std::vector<std::string> stages;
  std::string max_result = "256MB";
  int64_t port = -1;
  ServingFlags serving;
};

serve::WorkerOptions settled_worker(const WorkerFlags& flags) {
  serve::WorkerOptions options = flags.options;
  auto url = flags.redis.url();
  if (!url) {
    throw InvalidRequest({"--redis", "", "a worker takes its jobs from a Redis",
                          "add --redis URL, the same as the server's"});
  }
  options.redis = *url;
  options.lease_ms = flags.redis.lease_ms();
  options.otlp_endpoint = flags.serving.otlp_endpoint;
  options.port = static_cast<int>(flags.port);
  options.max_bytes = static_cast<int64_t>(bytes_of_flag("--max-result", flags.max_result));
  if (!options.memory_budget.empty()) bytes_of_flag("--memory-budget", options.memory_budget);
  if (!flags.stages.empty()) {
    options.parts.clear();
    for (const std::string& stage : flags.stages)
      options.parts.insert(*choice_of<serve::WorkPart>(stage));
  }
  return options;
}

std::string names_of_parts(const std::set<serve::WorkPart>& parts) {
  std::vector<std::string> names;
  for (serve::WorkPart part : parts) names.push_back(name_of(part));
  return fmt::format("{}", fmt::join(names, ", "));
}

int work(const WorkerFlags& flags) {
  const serve::WorkerOptions options = settled_worker(flags);
  begin_serving(*flags.session, flags.serving, "worker");
  take_signals();
  serve::Worker worker(*flags.session, options);
  worker.start();
  spdlog::info("worker {} takes {} of {} from {}", worker.id(), names_of_parts(options.parts),
               fmt::join(worker.models(), ", "), options.redis.shown());
  if (worker.port() >= 0) spdlog::info("listening on http://{}:{}", options.host, worker.port());
  serve_to_the_end(flags.serving, {.drain = [&](int64_t ms) { return worker.drain(ms); },
                                   .stop = [&] { worker.stop(); },
                                   .hand_back = [&] { worker.hand_back(); }});
  return 0;
}

void add_run_flags(CLI::App& command, WorkerFlags& flags) {
  command
      .add_option("--stages", flags.stages,
                  "parts of runs that this worker takes; if omitted, all. Runs of which others "
                  "take a part go from one to the other; repeatable, or with commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"encode", "denoise", "decode"}).description(""))
      ->type_name("encode|denoise|decode");
  command
      .add_option("--backend", flags.options.device,
                  "device of jobs that name none (omnirt backends), as in cuda:1")
      ->type_name("DEVICE");
  command
      .add_option("--memory-budget", flags.options.memory_budget,
                  "memory that the process may take; each run is planned within it")
      ->type_name("SIZE");
  command
      .add_option("--max-result", flags.max_result,
                  "of the images or videos of a run, or its state, which go through Redis [256MB]")
      ->type_name("SIZE");
  add_serving_flags(command, flags.serving);
}

}  // namespace

void add_worker(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<WorkerFlags>();
  flags->session = &session;
  CLI::App* command =
      app.add_subcommand("worker", "run the jobs of servers that share a Redis (docs/server.md)");
  add_redis_flags(*command, flags->redis);
  command
      ->add_option("-m,--model", flags->options.models,
                   "model whose jobs it takes: ID, NAME=ID or NAME=FOLDER, by the names that the "
                   "servers give them; repeatable. If omitted, all that are on this machine")
      ->allow_extra_args(false);
  command
      ->add_option("--lora-dir", flags->options.lora_folders,
                   "folder whose .safetensors files jobs may name as adapters; repeatable")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
  add_run_flags(*command, *flags);
  command->add_option("--host", flags->options.host,
                      "address of /healthz, /readyz and /metrics [127.0.0.1]; one that other "
                      "machines reach needs keys");
  command
      ->add_option("--api-key-file", flags->options.key_file,
                   "file of keys, as the server's; /metrics then needs one with the scope metrics")
      ->type_name("FILE");
  command->add_option("--port", flags->port, "port of these; 0: any that is free; if omitted, none")
      ->check(CLI::Range(0, 65'535).description(""))
      ->type_name("INT 0..65535");
  command->callback([flags, &run] { run = [flags] { return work(*flags); }; });
}

}  // namespace omnirt::cli
