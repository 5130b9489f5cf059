#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/bench.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
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

int bench(const BenchFlags& flags) {
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
  if (!flags.output.empty()) io::write_file(flags.output, result.dump(2) + "\n");
  if (flags.json)
    say_json(result);
  else
    print_table(result);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<BenchFlags>();
  flags->session = &session;
  RequestCommand* command = &RequestCommand::add(app, "bench", "time a request over several runs");
  flags->options = std::make_unique<RequestOptions>(*command, session.keys());
  command->add_option("--scenario", flags->scenario,
                      "file (JSON or YAML) with request, total, concurrency, warmup; flags stand "
                      "over it");
  command->add_option("--total", flags->total, "measured runs [5]");
  command->add_option("--concurrency", flags->concurrency, "runs at a time [1]");
  command->add_option("--warmup", flags->warmup, "runs before that are not counted [1]");
  command->add_flag("--json", flags->json, "print the result as JSON");
  command->add_option("--result", flags->output, "file to write the result to, as JSON");
  command->callback([flags, &run] {
    run = [flags] {
      return with_flag_names(flags->options->fields(), [&] { return bench(*flags); });
    };
  });
}

}  // namespace omnirt::cli
