#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "engine/session.hpp"
#include "io/file.hpp"

namespace omnirt::cli {
namespace {

namespace fs = std::filesystem;

struct DocsFlags {
  std::string folder;
  bool check = false;
};

constexpr size_t max_page_bytes = size_t{16} << 20;

bool is_current(const fs::path& path, const std::string& text) {
  std::error_code error;
  return fs::is_regular_file(path, error) && io::read_file(path, max_page_bytes) == text;
}

int docs(const DocsFlags& flags, const Session& session) {
  size_t stale = 0;
  std::error_code error;
  if (!flags.check) fs::create_directories(flags.folder, error);
  for (const auto& [name, text] : session.reference_pages()) {
    fs::path path = fs::path(flags.folder) / name;
    if (is_current(path, text)) continue;
    ++stale;
    if (!flags.check) io::write_file(path, text);
    say("{} {}\n", flags.check ? "stale:" : "wrote", path.string());
  }
  if (!flags.check || stale == 0) return 0;
  say("write them again with: omnirt docs {}\n", flags.folder);
  return 3;
}

}  // namespace

void add_docs(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<DocsFlags>();
  CLI::App* command = app.add_subcommand(
      "docs", "write the reference pages (models, blocks, keys, schedulers, guiders, networks)");
  command->add_option("folder", flags->folder, "where to, such as docs/reference")->required();
  command->add_flag("--check", flags->check, "write nothing; fail when a page is stale");
  command->callback(
      [flags, &run, &session] { run = [flags, &session] { return docs(*flags, session); }; });
}

}  // namespace omnirt::cli
