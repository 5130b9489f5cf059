#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/bench.hpp"
#include "cli/bench_serve.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/say.hpp"
#include "io/file.hpp"
#include "request/request.hpp"

namespace omnirt::cli {
namespace {

struct BenchFlags {
  Session* session = nullptr;
  std::unique_ptr<RequestOptions> options;
  std::optional<int64_t> total, concurrency, warmup;
  std::string scenario, output;
  bool json = false;
  ServeBenchPlan serve;
  std::optional<double> seconds, slo;
  std::optional<int64_t> seed;
};

constexpr int64_t most_runs = 100'000;

void set_count(int64_t& into, const std::optional<int64_t>& given, const char* name, int64_t least,
               int64_t most) {
  if (!given) return;
  if (*given < least || *given > most) {
    throw InvalidRequest(
        {name, fmt::format("{}", *given), fmt::format("{} to {} are possible", least, most), ""});
  }
  into = *given;
}

std::optional<int64_t> number_of(const Json& scenario, const char* name) {
  auto it = scenario.find(name);
  if (it == scenario.end() || it->is_null()) return std::nullopt;
  if (it->is_number_integer()) return it->get<int64_t>();
  throw InvalidRequest(
      {std::string("scenario.") + name, it->dump(), "a whole number is expected", ""});
}

BenchPlan settle_plan(const BenchFlags& flags, const Json& scenario) {
  BenchPlan plan;
  struct Count {
    const char* name;
    int64_t BenchPlan::*member;
    const std::optional<int64_t>& flag;
    int64_t least, most;
  };
  for (const Count& count :
       {Count{"total", &BenchPlan::total, flags.total, 1, most_runs},
        Count{"concurrency", &BenchPlan::concurrency, flags.concurrency, 1, 256},
        Count{"warmup", &BenchPlan::warmup, flags.warmup, 0, most_runs}}) {
    set_count(plan.*count.member, number_of(scenario, count.name), count.name, count.least,
              count.most);
    set_count(plan.*count.member, count.flag, count.name, count.least, count.most);
  }
  return plan;
}

// {request, total, concurrency, warmup}; nothing when no scenario is named.
Json load_scenario(const std::string& path) {
  if (path.empty()) return Json::object();
  Json scenario = load_document(path);
  if (!scenario.is_object()) throw InvalidFile({path, "", "an object is expected", ""});
  for (const auto& [name, value] : scenario.items()) {
    if (name != "request" && name != "total" && name != "concurrency" && name != "warmup") {
      throw InvalidRequest({"scenario." + name, value.dump(), "unknown",
                            "a scenario has request, total, concurrency and warmup"});
    }
  }
  return scenario;
}

void print_spread(const char* name, const Json& spread) {
  say("{:<24} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, spread["min"].get<double>(),
      spread["median"].get<double>(), spread["p95"].get<double>(), spread["max"].get<double>());
}

void print_table(const Json& result) {
  say("model {}, backend {}, levels {}\n", result["model"].get<std::string>(),
      result["backend"].get<std::string>(), result["levels"].dump());
  say("{:<24} {:>10} {:>10} {:>10} {:>10}\n", "ms", "min", "median", "p95", "max");
  print_spread("run", result["total_ms"]);
  print_spread("load", result["load_ms"]);
  print_spread("step", result["step_ms"]);
  for (const auto& [name, spread] : result["stages"].items()) print_spread(name.c_str(), spread);
  say("{:<24} {:>10.3f}\n", "images per second", result["images_per_second"].get<double>());
  say("{:<24} {:>10.1f}\n", "peak RSS, MB", result["peak_rss_bytes"].get<double>() / 1e6);
}

void show(const BenchFlags& flags, const Json& result, void (*print)(const Json&)) {
  if (!flags.output.empty()) io::write_file(flags.output, result.dump(2) + "\n");
  if (flags.json)
    say_json(result);
  else
    print(result);
}

// Flags that have a meaning with --serve alone, or without it alone.
void check_use(const BenchFlags& flags) {
  const bool serve = !flags.serve.url.empty();
  auto refuse = [&](const char* name) {
    throw InvalidRequest({name, "", serve ? "has no meaning with --serve" : "needs --serve",
                          serve ? "omit it" : "give the server's address"});
  };
  if (serve && flags.concurrency) refuse("--concurrency");
  if (serve && !flags.scenario.empty()) refuse("--scenario");
  const ServeBenchPlan& plan = flags.serve;
  for (const auto& [name, given] :
       {std::pair{"--mix", !plan.mix.empty()}, std::pair{"--trace", !plan.trace.empty()},
        std::pair{"--load", plan.load.has_value()}, std::pair{"--rate", plan.rate.has_value()},
        std::pair{"--key-file", !plan.key_file.empty()},
        std::pair{"--seconds", flags.seconds.has_value()},
        std::pair{"--slo", flags.slo.has_value()},
        std::pair{"--arrival-seed", flags.seed.has_value()}}) {
    if (!serve && given) refuse(name);
  }
  auto exclude = [](bool both, const char* name, const char* other) {
    if (both)
      throw InvalidRequest({name, "", std::string("cannot be given with ") + other, "omit one"});
  };
  exclude(plan.load && plan.rate, "--load", "--rate");
  exclude(!plan.trace.empty() && !plan.mix.empty(), "--mix", "--trace");
  exclude(!plan.trace.empty() && (plan.load || plan.rate), "--load, --rate", "--trace");
}

int bench_serve(const BenchFlags& flags) {
  ServeBenchPlan plan = flags.serve;
  int64_t total = 0;
  set_count(total, flags.total, "total", 1, most_runs);
  if (total > 0) plan.total = total;
  set_count(plan.warmup, flags.warmup, "warmup", 0, 100);
  plan.seconds = flags.seconds.value_or(plan.seconds);
  plan.slo = flags.slo.value_or(plan.slo);
  plan.seed = flags.seed.value_or(plan.seed);
  const Json request = flags.options->request(GenerateRequest{}).to_json();
  if (!flags.output.empty()) io::AtomicFile(flags.output);
  CancelToken cancel;
  Stoppable stoppable(cancel);
  show(flags, bench_server(plan, request, cancel), print_serve_bench);
  return 0;
}

int bench(const BenchFlags& flags) {
  check_use(flags);
  if (!flags.serve.url.empty()) return bench_serve(flags);
  Json scenario = load_scenario(flags.scenario);
  BenchPlan plan = settle_plan(flags, scenario);
  GenerateRequest base =
      scenario.contains("request") ? parse_request(scenario["request"]) : GenerateRequest{};
  GenerateRequest request = flags.options->request(std::move(base));
  // Whether the result can be written is known before the runs.
  if (!flags.output.empty()) io::AtomicFile(flags.output);
  flags.options->use_threads();
  flags.session->keep_components();
  flags.session->confine(flags.options->confine());
  Json result = run_bench(*flags.session, request, flags.options->strict(), plan).to_json(plan);
  show(flags, result, print_table);
  return 0;
}

void add_serve_flags(CLI::App& command, BenchFlags& flags) {
  ServeBenchPlan& plan = flags.serve;
  command
      .add_option("--serve", plan.url,
                  "address of a server that runs (http://localhost:8000): requests are sent to it "
                  "whatever becomes of those before")
      ->type_name("URL");
  command
      .add_option("--mix", plan.mix,
                  "of --serve: shares of requests with their steps and sizes, as in "
                  "50:4,40:20,10:50:256x256; if omitted, all are the request")
      ->type_name("SHARE:STEPS[:WxH],...");
  command
      .add_option("--load", plan.load,
                  "of --serve: requests arrive by chance (a Poisson process) at this share of what "
                  "the server can do one at a time, as measured first [0.5]")
      ->check(CLI::Range(0.001, 100.0).description(""))
      ->type_name("NUMBER 0.001..100");
  command.add_option("--rate", plan.rate, "the same as requests per second")
      ->check(CLI::Range(0.0001, 10'000.0).description(""))
      ->type_name("NUMBER 0.0001..10000");
  command
      .add_option("--trace", plan.trace,
                  "of --serve: requests as a file says, a JSON object per line: at_ms, and if "
                  "given kind (requests that are counted together) and request (over the flags')")
      ->type_name("FILE");
  command
      .add_option(
          "--seconds", flags.seconds,
          "of --serve: no request is sent later [600]; --total is 100 here, or all of a trace")
      ->check(CLI::Range(0.001, 86'400.0).description(""))
      ->type_name("NUMBER 0.001..86400");
  command.add_option("--arrival-seed", flags.seed, "of --serve: seed of the arrivals [0]")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 53).description(""))
      ->type_name("INT");
  command
      .add_option("--slo", flags.slo,
                  "of --serve: an answer is in time within so many times what the request takes "
                  "alone [3]")
      ->check(CLI::Range(1.0, 1'000'000.0).description(""))
      ->type_name("NUMBER 1..1000000");
  command.add_option("--key-file", plan.key_file, "of --serve: file that holds the key")
      ->type_name("FILE");
}

}  // namespace

void add_bench(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<BenchFlags>();
  flags->session = &session;
  RequestCommand* command = &RequestCommand::add(
      app, "bench", "time a request over several runs, or a server under load");
  flags->options = std::make_unique<RequestOptions>(*command, session.keys());
  command->add_option("--scenario", flags->scenario,
                      "file (JSON or YAML) with request, total, concurrency, warmup; flags stand "
                      "over it");
  command->add_option("--total", flags->total, "measured runs [5]");
  command->add_option("--concurrency", flags->concurrency, "runs at a time [1]");
  command->add_option("--warmup", flags->warmup, "runs before that are not counted [1]");
  add_serve_flags(*command, *flags);
  command->add_flag("--json", flags->json, "print the result as JSON");
  command->add_option("--result", flags->output, "file to write the result to, as JSON");
  command->callback([flags, &run] {
    run = [flags] {
      return with_flag_names(flags->options->fields(), [&] { return bench(*flags); });
    };
  });
}

}  // namespace omnirt::cli
