#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace omnirt::cli {
namespace {

constexpr size_t bar_width = 30;

std::string bar(size_t step, size_t steps) {
  size_t filled = steps ? bar_width * step / steps : 0;
  return std::string(filled, '#') + std::string(bar_width - filled, '-');
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() {
  finish();
}

void Progress::operator()(const SessionProgress& progress) {
  if (quiet_) return;
  if (progress.stage != stage_) {
    stage_ = progress.stage;
    loop_start_ = std::chrono::steady_clock::now();
  }
  if (progress.steps > 0) draw(progress);
}

void Progress::draw(const SessionProgress& progress) {
  double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - loop_start_).count();
  double each = elapsed / static_cast<double>(progress.step);
  double left = each * static_cast<double>(progress.steps - progress.step);
  std::string text = fmt::format("step {}/{}  {:.3f} s/step  {:.1f} s left", progress.step,
                                 progress.steps, each, left);
  if (terminal_) {
    fmt::print(stderr, "\r[{}] {}\033[K", bar(progress.step, progress.steps), text);
    open_line_ = true;
    if (progress.step == progress.steps) finish();
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

void Progress::finish() {
  if (open_line_) fmt::print(stderr, "\n");
  open_line_ = false;
}

}  // namespace omnirt::cli
