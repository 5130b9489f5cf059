#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/redis_flags.hpp"
#include "cli/serving.hpp"
#include "cli/signals.hpp"
#include "serve/server.hpp"

namespace omnirt::cli {
namespace {

struct ServeFlags {
  Session* session = nullptr;
  serve::ServerOptions options;
  int64_t port = 8000, parallel = 1, in_flight = 5, queue = 64;
  int64_t keep_hours = 24, keep_jobs = 1000, connections = 128, connections_per_peer = 0;
  int64_t max_images = 16;
  double max_megapixels = 4;
  std::string max_body = "32MB", keep_bytes = "4GB", max_adapter = "2GB", adapter_bytes = "16GB";
  std::vector<std::string> origins;
  std::string order = "shortest", share_steps = "auto";
  RedisFlags redis;
  ServingFlags serving;
};

// A limit of runs in this process, where they are made by workers.
void refuse_given(const CLI::App& command, const char* flag) {
  const CLI::Option* option = command.get_option(flag);
  if (option->count() == 0) return;
  throw InvalidRequest({flag, option->as<std::string>(),
                        "is of jobs that run in this process; those at Redis are run by workers",
                        "omit it"});
}

// Steps are shared by runs that take turns at the same cores.
serve::ShareSteps share_steps(const ServeFlags& flags) {
  const serve::ShareSteps how = *choice_of<serve::ShareSteps>(flags.share_steps);
  const bool budget = !flags.options.api.memory_budget.empty();
  const bool turns = flags.parallel == 1 && flags.in_flight > 2 && !budget;
  if (how == serve::ShareSteps::on && !turns) {
    throw InvalidRequest({"--share-steps", "on",
                          budget ? "has no effect with --memory-budget, which plans each run alone"
                                 : "needs --parallel 1 and --in-flight 3 or more",
                          "omit it"});
  }
  return turns ? how : serve::ShareSteps::off;
}

// Some are left for others, whatever one client does.
size_t connections_per_peer(const ServeFlags& flags) {
  const int64_t usual = flags.connections - flags.connections / 4;
  return static_cast<size_t>(flags.connections_per_peer > 0 ? flags.connections_per_peer : usual);
}

serve::ServerOptions settled(const ServeFlags& flags) {
  serve::ServerOptions options = flags.options;
  options.port = static_cast<uint16_t>(flags.port);
  options.redis = flags.redis.url();
  options.lease_ms = flags.redis.lease_ms();
  options.otlp_endpoint = flags.serving.otlp_endpoint;
  options.jobs.queue.at_once = static_cast<size_t>(flags.parallel);
  options.jobs.queue.waiting = static_cast<size_t>(flags.queue);
  options.jobs.queue.kept = static_cast<size_t>(flags.keep_jobs);
  options.jobs.queue.keep_ms = flags.keep_hours * 3'600'000;
  options.jobs.queue.kept_bytes =
      static_cast<int64_t>(bytes_of_flag("--keep-bytes", flags.keep_bytes));
  options.jobs.in_flight = static_cast<size_t>(flags.in_flight);
  options.jobs.queue.order = *choice_of<serve::JobOrder>(flags.order);
  options.jobs.share_steps = share_steps(flags);
  // A plan counts what the process holds: runs that are paused would be in each other's way.
  if (!options.api.memory_budget.empty()) {
    bytes_of_flag("--memory-budget", options.api.memory_budget);
    options.jobs.queue.at_once = options.jobs.in_flight = 1;
  }
  options.http.body_bytes = bytes_of_flag("--max-body", flags.max_body);
  options.http.message_bytes = options.http.body_bytes;
  options.http.all_bodies_bytes = std::max(options.http.all_bodies_bytes, options.http.body_bytes);
  options.adapters.upload_bytes = bytes_of_flag("--max-adapter", flags.max_adapter);
  options.adapters.all_bytes = bytes_of_flag("--adapter-bytes", flags.adapter_bytes);
  options.http.connections = static_cast<size_t>(flags.connections);
  options.http.connections_per_peer = connections_per_peer(flags);
  options.api.max_images = flags.max_images;
  options.api.max_pixels = static_cast<int64_t>(flags.max_megapixels * (1 << 20));
  options.api.origins = {flags.origins.begin(), flags.origins.end()};
  return options;
}

int serve_requests(const ServeFlags& flags) {
  const serve::ServerOptions options = settled(flags);
  begin_serving(*flags.session, flags.serving, "serve");
  serve::Server server(*flags.session, options);
  take_signals();
  server.start();
  spdlog::info("listening on http://{}:{}", options.host, server.port());
  spdlog::info("models: {}", fmt::join(server.models(), ", "));
  serve_to_the_end(flags.serving, {.drain = [&](int64_t ms) { return server.drain(ms); },
                                   .stop = [&] { server.stop(); },
                                   .hand_back = [&] { server.hand_back(); }});
  return 0;
}

void add_queue_limits(CLI::App& command, ServeFlags& flags) {
  command.add_option("--queue", flags.queue, "jobs that may wait; more are refused [64]")
      ->check(CLI::Range(1, 100'000).description(""))
      ->type_name("INT 1..100000");
  command
      .add_option("--parallel", flags.parallel,
                  "runs that compute at a time on each device [1]; with 1 each image has the bits "
                  "that it has alone")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("INT 1..64");
  command
      .add_option("--in-flight", flags.in_flight,
                  "runs that have begun on each device; those that do not compute pause at a step "
                  "[5]")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("INT 1..64");
  command
      .add_option("--order", flags.order,
                  "which job goes first, of one client and priority: the shortest, or by arrival "
                  "[shortest]")
      ->check(CLI::IsMember({"shortest", "arrival"}).description(""))
      ->type_name("shortest|arrival");
  command
      .add_option("--share-steps", flags.share_steps,
                  "whether runs of the same model and size compute steps together: where it is "
                  "measured to pay, always, or never [auto]")
      ->check(CLI::IsMember({"auto", "on", "off"}).description(""))
      ->type_name("auto|on|off");
  command
      .add_option("--memory-budget", flags.options.api.memory_budget,
                  "memory that the process may take; each run is planned within it, one at a "
                  "time")
      ->type_name("SIZE");
}

void add_device_flag(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--backend", flags.options.devices,
                  "device that jobs run on (omnirt backends); of several of one backend, each runs "
                  "jobs of its own: cuda:0,cuda:1. If omitted, the one that a request names")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("DEVICE");
}

void add_size_limits(CLI::App& command, ServeFlags& flags) {
  command.add_option("--max-megapixels", flags.max_megapixels, "of one image [4]")
      ->check(CLI::Range(0.001, 256.0).description(""))
      ->type_name("NUMBER 0.001..256.0");
  command.add_option("--max-images", flags.max_images, "of one request [16]")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("INT 1..1024");
  command.add_option("--max-body", flags.max_body, "of one HTTP request [32MB]")->type_name("SIZE");
  command.add_option("--max-adapter", flags.max_adapter, "of one adapter that is sent [2GB]")
      ->type_name("SIZE");
  command
      .add_option("--adapter-bytes", flags.adapter_bytes, "of all adapters that were sent [16GB]")
      ->type_name("SIZE");
}

void add_connection_limits(CLI::App& command, ServeFlags& flags) {
  command.add_option("--connections", flags.connections, "open at a time [128]")
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("INT 1..10000");
  command
      .add_option(
          "--connections-per-peer", flags.connections_per_peer,
          "of these, open from one address [three quarters of them]; a proxy is one address")
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("INT 1..10000");
}

void add_keeping_limits(CLI::App& command, ServeFlags& flags) {
  command.add_option("--keep-hours", flags.keep_hours, "how long ended jobs are kept [24]")
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("INT 1..10000");
  command.add_option("--keep-jobs", flags.keep_jobs, "how many ended jobs are kept [1000]")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("INT 1..1000000");
  command.add_option("--keep-bytes", flags.keep_bytes, "of the files of ended jobs [4GB]")
      ->type_name("SIZE");
}

}  // namespace

void add_serve(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<ServeFlags>();
  flags->session = &session;
  CLI::App* command = app.add_subcommand("serve", "answer requests over HTTP (docs/server.md)");
  command->add_option("--host", flags->options.host,
                      "address to listen at [127.0.0.1]; one that other machines reach needs keys");
  command->add_option("--port", flags->port, "port to listen at [8000]; 0: any that is free")
      ->check(CLI::Range(0, 65'535).description(""))
      ->type_name("INT 0..65535");
  command
      ->add_option("-m,--model", flags->options.models,
                   "model that requests may name: ID, NAME=ID or NAME=FOLDER; repeatable; the "
                   "first is the default. If omitted, all that are on this machine")
      ->allow_extra_args(false);
  command
      ->add_option("--lora-dir", flags->options.lora_folders,
                   "folder whose .safetensors files requests may name as adapters; repeatable")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
  command
      ->add_option("--state", flags->options.state,
                   "folder that keeps jobs and their images beyond the process; if omitted, "
                   "they end with it")
      ->type_name("FOLDER");
  command
      ->add_option("--api-key-file", flags->options.key_file,
                   "file of the keys' names, SHA-256 digests and limits")
      ->type_name("FILE");
  command
      ->add_option("--cors-origin", flags->origins,
                   "origin whose pages may ask this server (http://localhost:3000); repeatable")
      ->allow_extra_args(false);
  add_redis_flags(*command, flags->redis);
  add_device_flag(*command, *flags);
  add_queue_limits(*command, *flags);
  add_size_limits(*command, *flags);
  add_connection_limits(*command, *flags);
  add_keeping_limits(*command, *flags);
  add_serving_flags(*command, flags->serving);
  command->callback([flags, command, &run] {
    run = [flags, command] {
      if (!flags->redis.address.empty()) {
        for (const char* each : {"--parallel", "--in-flight", "--share-steps", "--threads",
                                 "--max-adapter", "--adapter-bytes"})
          refuse_given(*command, each);
      }
      return serve_requests(*flags);
    };
  });
}

}  // namespace omnirt::cli
