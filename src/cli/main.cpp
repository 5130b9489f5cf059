#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <sstream>
#include <string_view>

#include "base/printable.hpp"
#include "catalogue/make_session.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/help.hpp"
#include "cli/interrupt.hpp"
#include "cli/plugin_words.hpp"
#include "cli/say.hpp"
#include "cli/unknown_words.hpp"
#include "cli/version.hpp"
#include "engine/plugins.hpp"
#include "io/lost_pages.hpp"
#include "io/standard_streams.hpp"
#include "io/startup_pages.hpp"

namespace omnirt::cli {
namespace {

// CLI11's own codes become this program's: 0 for help, 2 for words that cannot be taken.
int parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream help;
    const int code = app.exit(error, help, help);
    put(help.str());
    return code;
  }
  note("error: {}\n", printable(unknown_word(app, error)));
  return 2;
}

// The commands with their flags, over what this build and the plug-ins hold.
struct Program {
  explicit Program(const std::vector<std::filesystem::path>& files)
      : session(make_session(/*single_run=*/true, files)) {
    app.require_subcommand(1);
    app.set_help_flag("-h,--help", "show this help");
    app.set_version_flag("--version", version_text, "show the versions of OmniRT and libtorch");
    app.formatter(std::make_shared<HelpText>(
        session->keys(), [this](const std::string& model) { return session->model(model); }));
    app.fallthrough();
    app.add_option("--plugin", plugins,
                   "shared library that adds blocks, models, schedulers or guiders; again for more "
                   "(OMNIRT_PLUGINS: the same, separated by colons)")
        ->allow_extra_args(false);
    add_generate(app, command, *session);
    add_upscale(app, command, *session);
    add_grid(app, command, *session);
    add_validate(app, command, *session);
    add_bench(app, command, *session);
    add_serve(app, command, *session);
    add_worker(app, command, *session);
    add_models(app, command, *session);
    add_pull(app, command, *session);
    add_cache(app, command);
    add_backends(app, command, *session);
    add_convert(app, command, *session);
    add_inspect(app, command, *session);
    add_docs(app, command, *session);
    add_sheet(app, command);
    add_preprocess(app, command);
    add_completions(app, command, *session);
    add_man(app, command);
  }

  CLI::App app{"runs diffusion models: images and videos from texts", "omnirt"};
  std::vector<std::string> plugins;
  std::unique_ptr<Session> session;
  Run command;
};

// Plug-ins may bring config keys, which are flags: they are loaded before the flags are known. So
// the words are read twice, first by the grammar without them.
std::vector<std::filesystem::path> named_plugins(const std::vector<std::string>& words) {
  if (!may_name_plugins(words)) return {};
  return plugin_words(Program(plugins_of_environment()).app, words);
}

// "help generate" means "generate --help".
void take_help(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.resize(std::min<size_t>(words.size(), 1));
  words.emplace_back("--help");
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  take_help(words);
  const std::vector<std::filesystem::path> named = named_plugins(words);
  std::vector<std::filesystem::path> files = plugins_of_environment();
  files.insert(files.end(), named.begin(), named.end());
  Program program(files);
  try {
    // CLI11 takes them from the last on.
    program.app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return parse_failure(program.app, error);
  }
  check_plugins(named, program.plugins);
  Interrupts interrupts;
  return program.command();
}

// A command has succeeded only when its results were written.
int run_and_flush(int argc, char** argv) {
  const int code = run(argc, argv);
  const bool written = flush_output();
  return code == 0 && !written ? 3 : code;
}

}  // namespace
}  // namespace omnirt::cli

namespace {

char* variable(std::string_view name) {
  for (char** each = environ; each && *each; ++each) {
    std::string_view line = *each;
    if (line.starts_with(name) && line.substr(name.size()).starts_with("="))
      return *each + name.size() + 1;
  }
  return nullptr;
}

}  // namespace

// libtorch's threads (libgomp's) wait awake between two operations, by default for milliseconds.
// Where other programs use the cores, that is taken from the thread that they wait for: a step in
// bf16 took up to 40 times as long. 1,000 turns are some 20 microseconds, enough for operations
// that follow each other, so that idle cores lose nothing. libgomp reads its environment as it is
// loaded, before any code of this program runs but functions that it calls: so this replaces the C
// library's getenv, and answers one question differently.
extern "C" [[gnu::visibility("default")]] char* getenv(const char* name) noexcept {
  static char turns[] = "1000";
  char* given = variable(name);
  bool own = given || std::string_view(name) != "GOMP_SPINCOUNT" || variable("OMP_WAIT_POLICY");
  return own ? given : turns;
}

int main(int argc, char** argv) {
  omnirt::io::give_back_startup_pages();
  omnirt::io::survive_lost_pages();
  omnirt::io::hold_standard_streams();
  // A file that grows past the limit of the process is an error like a full disk, and a pipe
  // without a reader one like a closed stream: neither ends the process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return omnirt::cli::run_and_flush(argc, argv);
  } catch (const omnirt::Error& error) {
    return omnirt::cli::print_error(error);
  } catch (const std::exception& error) {
    omnirt::cli::note("error: {}\n", omnirt::printable_lines(error.what()));
    return 3;
  }
}
