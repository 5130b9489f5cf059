#include "cli/serving.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "base/byte_size.hpp"
#include "base/error.hpp"
#include "catalogue/make_session.hpp"
#include "cli/signals.hpp"

namespace omnirt::cli {

void add_serving_flags(CLI::App& command, ServingFlags& flags) {
  command
      .add_option("--otlp-endpoint", flags.otlp_endpoint,
                  "collector that is sent traces by OTLP over HTTP (http://localhost:4318)")
      ->type_name("URL");
  command
      .add_option("--drain-seconds", flags.drain_seconds,
                  "how long runs may go on after the first SIGTERM or Ctrl-C [30]")
      ->check(CLI::Range(0, 86'400).description(""))
      ->type_name("INT 0..86400");
  command.add_option("--threads", flags.threads, "threads of the cpu's kernels")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("INT 1..1024");
}

uint64_t bytes_of_flag(const char* flag, const std::string& text) {
  if (auto bytes = parse_byte_size(text)) return *bytes;
  throw InvalidRequest({flag, text, "is no size", "give a number with MB or GB"});
}

void begin_serving(Session& session, const ServingFlags& flags, const std::string& name) {
  // Whatever this process writes holds what clients sent: it is for this user only.
  ::umask(0077);
  if (flags.threads > 0) limit_threads(static_cast<int>(flags.threads));
  session.keep_components();
  auto log = spdlog::stderr_logger_mt(name);
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::set_default_logger(log);
}

void serve_to_the_end(const ServingFlags& flags, const Served& served) {
  serve_until_signal(
      [&] {
        spdlog::info("draining for {} s; again to end now", flags.drain_seconds);
        if (!served.drain(flags.drain_seconds * 1000))
          spdlog::info("what still runs is queued again");
        served.stop();
      },
      served.hand_back);
}

}  // namespace omnirt::cli
