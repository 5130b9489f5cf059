#pragma once
#include <chrono>
#include <string>

#include "engine/session.hpp"

namespace omnirt::cli {

// Shows a run's progress on standard error: a bar on a terminal, a plain line per step otherwise.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  void operator()(const SessionProgress& progress);
  // Ends the bar's line, so that what follows starts on one of its own.
  void finish();

 private:
  void draw(const SessionProgress& progress);
  void draw_stage();
  bool quiet_;
  bool terminal_;
  bool open_line_ = false;
  std::string stage_;
  std::chrono::steady_clock::time_point loop_start_;
};

}  // namespace omnirt::cli
