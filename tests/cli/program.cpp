#include "cli/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>

namespace omnirt::testing {
namespace fs = std::filesystem;
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe(ends) == 0) read_end = ends[0], write_end = ends[1];
  }
};

[[noreturn]] void become_program(const std::vector<std::string>& arguments,
                                 const std::string& input_file, int out, int err) {
  dup2(open(input_file.c_str(), O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char*> argv{const_cast<char*>(OMNIRT_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(OMNIRT_PROGRAM, argv.data());
  _exit(127);
}

// Reads what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  char buffer[4096];
  ssize_t got = read(fd, buffer, sizeof buffer);
  if (got > 0) into.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

}  // namespace

Ended run_program(const std::vector<std::string>& arguments, const std::string& input,
                  const std::string& interrupt_after) {
  Scratch scratch;
  std::string input_file = scratch.write("input", input);
  Pipe out, err;
  pid_t child = fork();
  if (child == 0) become_program(arguments, input_file, out.write_end, err.write_end);
  close(out.write_end);
  close(err.write_end);
  Ended ended;
  bool out_open = true, err_open = true, interrupted = interrupt_after.empty();
  while (out_open || err_open) {
    pollfd fds[2] = {{out_open ? out.read_end : -1, POLLIN, 0},
                     {err_open ? err.read_end : -1, POLLIN, 0}};
    poll(fds, 2, -1);
    if (fds[0].revents) out_open = drain(out.read_end, ended.out);
    if (fds[1].revents) err_open = drain(err.read_end, ended.err);
    if (!interrupted && ended.err.find(interrupt_after) != std::string::npos) {
      interrupted = true;
      kill(child, SIGINT);
    }
  }
  close(out.read_end);
  close(err.read_end);
  int status = 0;
  waitpid(child, &status, 0);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

Scratch::Scratch()
    : path_(fs::temp_directory_path() / ("omnirt-cli-" + std::to_string(std::random_device{}()))) {
  fs::create_directories(path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Scratch::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path_ / name, std::ios::binary) << bytes;
  return file(name);
}

std::vector<std::string> Scratch::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace omnirt::testing
