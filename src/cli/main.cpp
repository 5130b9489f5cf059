#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "catalogue/make_session.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "io/startup_pages.hpp"

namespace {

// CLI11's own codes become this program's: 0 for help, 2 for words that cannot be taken.
int parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  fmt::print(stderr, "error: {}\n", error.what());
  fmt::print(stderr, "see omnirt --help\n");
  return 2;
}

int run(int argc, char** argv) {
  CLI::App app("runs diffusion models: pictures from words", "omnirt");
  app.require_subcommand(1);
  auto session = omnirt::make_session(/*single_run=*/true);
  omnirt::cli::Run command;
  omnirt::cli::add_generate(app, command, *session);
  omnirt::cli::add_validate(app, command, *session);
  omnirt::cli::add_bench(app, command, *session);
  omnirt::cli::add_models(app, command, *session);
  omnirt::cli::add_backends(app, command, *session);
  omnirt::cli::add_inspect(app, command);
  omnirt::cli::add_sheet(app, command);
  omnirt::cli::add_completions(app, command);
  omnirt::cli::add_man(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error);
  }
  return command();
}

}  // namespace

int main(int argc, char** argv) {
  omnirt::io::give_back_startup_pages();
  try {
    return run(argc, argv);
  } catch (const omnirt::Error& error) {
    return omnirt::cli::print_error(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
}
