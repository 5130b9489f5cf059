#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

constexpr size_t bar_width = 30;

std::string bar(size_t step, size_t steps) {
  size_t filled = steps ? bar_width * step / steps : 0;
  return std::string(filled, '#') + std::string(bar_width - filled, '-');
}

// What a stage does, for the user who waits for it.
std::string_view words_of(std::string_view stage) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> words{
      {{"prepare_conditions", "encoding the inputs"},
       {"prepare_latents", "preparing the latents"},
       {"decode", "decoding"},
       {"export", "writing"}}};
  for (const auto& [name, text] : words) {
    if (name == stage) return text;
  }
  return "";
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
    draw_stage();
  }
  if (progress.steps > 0) draw(progress);
}

// On a terminal until the next line takes its place; a log has a line of each stage.
void Progress::draw_stage() {
  std::string_view words = words_of(stage_);
  if (words.empty()) return;
  if (terminal_)
    note("\r{}\033[K", words);
  else
    note("{}\n", words);
  open_line_ = terminal_;
}

void Progress::draw(const SessionProgress& progress) {
  double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - loop_start_).count();
  double each = elapsed / static_cast<double>(progress.step);
  double left = each * static_cast<double>(progress.steps - progress.step);
  std::string text = fmt::format("step {}/{}  {:.3f} s/step  {:.1f} s left", progress.step,
                                 progress.steps, each, left);
  if (terminal_) {
    note("\r[{}] {}\033[K", bar(progress.step, progress.steps), text);
    open_line_ = true;
    if (progress.step == progress.steps) finish();
  } else {
    note("{}\n", text);
  }
}

void Progress::finish() {
  // A stage's words go, the bar stays.
  if (open_line_) note("{}", words_of(stage_).empty() ? "\n" : "\r\033[K");
  open_line_ = false;
}

}  // namespace omnirt::cli
