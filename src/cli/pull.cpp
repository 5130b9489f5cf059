#include "hub/pull.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/byte_size.hpp"
#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

struct PullFlags {
  Session* session = nullptr;
  hub::PullRequest request;
  int64_t at_once = 4;
  bool dry_run = false, json = false, quiet = false;
};

// What has arrived, on standard error: one line that changes on a terminal, else a line at each
// tenth.
class PullLines {
 public:
  explicit PullLines(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~PullLines() { finish(); }
  PullLines(const PullLines&) = delete;
  PullLines& operator=(const PullLines&) = delete;

  void operator()(const hub::PullProgress& progress) {
    if (quiet_ || progress.total == 0) return;
    const auto tenth = static_cast<int>(progress.bytes * 10 / progress.total);
    const auto now = std::chrono::steady_clock::now();
    const bool due =
        terminal_ ? now - drawn_ > interval || progress.bytes == progress.total : tenth > tenth_;
    if (!due) return;
    tenth_ = tenth;
    drawn_ = now;
    draw(progress, now);
  }

  void waiting(const std::string& path) {
    if (quiet_) return;
    finish();
    note("waiting for another process that fetches {}\n", printable(path));
  }

  void finish() {
    if (open_line_) note("\n");
    open_line_ = false;
  }

 private:
  static constexpr std::chrono::milliseconds interval{100};

  void draw(const hub::PullProgress& progress, std::chrono::steady_clock::time_point now) {
    if (began_ == std::chrono::steady_clock::time_point{}) {
      began_ = now;
      first_bytes_ = progress.bytes;
    }
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const auto fetched =
        static_cast<double>(progress.bytes - std::min(first_bytes_, progress.bytes));
    const std::string rate =
        seconds > 1 ? fmt::format("  {:.1f} MB/s", fetched / seconds / 1e6) : std::string();
    const std::string text =
        fmt::format("{:3} %  {} of {}  {}/{} files{}", progress.bytes * 100 / progress.total,
                    shown_byte_size(progress.bytes), shown_byte_size(progress.total),
                    progress.files, progress.all_files, rate);
    if (terminal_)
      note("\r{}\033[K", text);
    else
      note("{}\n", text);
    open_line_ = terminal_;
  }

  bool quiet_, terminal_;
  bool open_line_ = false;
  int tenth_ = -1;
  uint64_t first_bytes_ = 0;
  std::chrono::steady_clock::time_point drawn_, began_;
};

// An id of this program's list, which has no slash, means its repository.
std::string repository_of(const std::string& given, const Session& session) {
  if (given.find('/') != std::string::npos) return given;
  const Json ids = session.model(given)["tasks"][0]["hub_ids"];
  if (ids.empty())
    throw InvalidRequest(
        {"model", given, "the model has no repository on the hub", "give organisation/name"});
  return ids[0].get<std::string>();
}

void print_plan(const hub::Pulled& plan, const std::string& id) {
  for (const hub::RemoteFile& file : plan.files)
    say("{:>10}  {}\n", shown_byte_size(file.bytes), file.path);
  say("{} at {}: {} files, {}; {} to fetch\n", id, plan.commit, plan.files.size(),
      shown_byte_size(plan.bytes), shown_byte_size(plan.bytes_to_get));
}

Json json_of(const hub::Pulled& plan, const std::string& id) {
  Json files = Json::array();
  for (const hub::RemoteFile& file : plan.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}});
  return {{"repository", id},
          {"commit", plan.commit},
          {"files", files},
          {"bytes", plan.bytes},
          {"bytes_to_get", plan.bytes_to_get},
          {"snapshot", plan.snapshot.string()}};
}

int pull_files(PullFlags& flags) {
  flags.request.id = repository_of(flags.request.id, *flags.session);
  flags.request.at_once = static_cast<size_t>(flags.at_once);
  const hub::Settings settings = hub::Settings::of_environment();
  PullLines lines(flags.quiet);
  hub::PullHooks hooks;
  hooks.progress = [&](const hub::PullProgress& progress) { lines(progress); };
  hooks.waiting = [&](const std::string& path) { lines.waiting(path); };
  const hub::Pulled pulled = flags.dry_run ? hub::plan_pull(settings, flags.request, hooks)
                                           : hub::pull(settings, flags.request, hooks);
  lines.finish();
  if (flags.json)
    say_json(json_of(pulled, flags.request.id));
  else if (flags.dry_run)
    print_plan(pulled, flags.request.id);
  else
    say("{}\n", pulled.snapshot.string());
  return 0;
}

void add_choice(CLI::App& command, hub::PullRequest& request) {
  command
      .add_option("files", request.choice.patterns,
                  "files to take, by name or pattern (\"*.safetensors\") [what a run needs]")
      ->type_name("FILE ...");
  command.add_option("--revision", request.revision, "branch, tag or commit [main]")
      ->type_name("NAME");
  command
      .add_option("--variant", request.choice.variant,
                  "weights of this variant where there are any: fp16")
      ->type_name("NAME");
  command.add_flag("--all", request.choice.all, "every file of the repository");
}

}  // namespace

void add_pull(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<PullFlags>();
  flags->session = &session;
  CLI::App* command = app.add_subcommand(
      "pull", "download a model or adapter from the Hugging Face hub into its local cache");
  command->add_option("model", flags->request.id, "organisation/name, or an id of `omnirt models`")
      ->required()
      ->type_name("ID");
  add_choice(*command, flags->request);
  command->add_option("--jobs", flags->at_once, "files that are fetched side by side [4]")
      ->check(CLI::Range(1, 32).description(""))
      ->type_name("INT 1..32");
  command->add_flag("--dry-run", flags->dry_run, "list the files and their sizes, and fetch none");
  command->add_flag("--json", flags->json, "print as JSON");
  command->add_flag("-q,--quiet", flags->quiet, "no progress");
  command->callback([flags, &run] {
    run = [flags] { return with_flag_names({}, [&] { return pull_files(*flags); }); };
  });
}

}  // namespace omnirt::cli
