#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "catalogue/make_session.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "engine/plugins.hpp"
#include "io/startup_pages.hpp"

namespace {

// CLI11's own codes become this program's: 0 for help, 2 for words that cannot be taken.
int parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  fmt::print(stderr, "error: {}\n", error.what());
  fmt::print(stderr, "see omnirt --help\n");
  return 2;
}

// Plug-ins may bring config keys, which are flags: they are loaded before the flags are known.
std::vector<std::filesystem::path> plugins_of(int argc, char** argv) {
  std::vector<std::filesystem::path> files = omnirt::plugins_of_environment();
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--plugin" && i + 1 < argc)
      files.emplace_back(argv[++i]);
    else if (word.starts_with("--plugin="))
      files.emplace_back(word.substr(sizeof "--plugin=" - 1));
  }
  return files;
}

int run(int argc, char** argv) {
  CLI::App app("runs diffusion models: pictures from words", "omnirt");
  app.require_subcommand(1);
  app.fallthrough();
  std::vector<std::string> plugins;  // read by plugins_of
  app.add_option("--plugin", plugins,
                 "shared library that adds blocks, models, schedulers or guiders; again for more "
                 "(OMNIRT_PLUGINS: the same, separated by colons)");
  auto session = omnirt::make_session(/*single_run=*/true, plugins_of(argc, argv));
  omnirt::cli::Run command;
  omnirt::cli::add_generate(app, command, *session);
  omnirt::cli::add_validate(app, command, *session);
  omnirt::cli::add_bench(app, command, *session);
  omnirt::cli::add_models(app, command, *session);
  omnirt::cli::add_backends(app, command, *session);
  omnirt::cli::add_convert(app, command, *session);
  omnirt::cli::add_inspect(app, command, *session);
  omnirt::cli::add_docs(app, command, *session);
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
