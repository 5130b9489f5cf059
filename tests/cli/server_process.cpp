#include "cli/server_process.hpp"

#include <csignal>

namespace omnirt::testing {

ServerProcess::ServerProcess(const std::vector<std::string>& flags,
                             const std::vector<std::string>& variables) {
  std::vector<std::string> words = variables;
  words.insert(words.end(), {OMNIRT_PROGRAM, "serve", "--port", "0", "--drain-seconds", "0"});
  words.insert(words.end(), flags.begin(), flags.end());
  thread_ = std::thread([this, words] {
    bool told = false;
    auto watch = [&](int, const std::string& err) {
      const std::string before = "listening on http://127.0.0.1:";
      const size_t at = err.find(before);
      if (told || at == std::string::npos || err.find('\n', at) == std::string::npos) return;
      told = true;
      listening_.set_value(static_cast<uint16_t>(std::stoi(err.substr(at + before.size()))));
    };
    ended_ = run_program_with(words, {.program = "/usr/bin/env",
                                      .started = [this](int child) { started_.set_value(child); },
                                      .watch = watch});
    if (!told) listening_.set_value(0);
  });
  child_ = started_.get_future().get();
  port_ = listening_.get_future().get();
}

ServerProcess::~ServerProcess() {
  end(SIGKILL);
}

const Ended& ServerProcess::end(int signal) {
  if (!thread_.joinable()) return ended_;
  if (signal) kill(child_, signal);
  thread_.join();
  return ended_;
}

}  // namespace omnirt::testing
