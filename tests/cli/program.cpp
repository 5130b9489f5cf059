#include "cli/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
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

void limit_files(size_t bytes) {
  if (bytes == 0) return;
  rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

// In the child: `place`, or the pipe that the test reads where it is empty.
void direct(int stream, const std::string& place, int to_test) {
  if (place == closed_stream) {
    close(stream);
  } else if (place == broken_pipe) {
    const Pipe broken;
    dup2(broken.write_end, stream);
    close(broken.read_end);
    close(broken.write_end);
  } else {
    dup2(place.empty() ? to_test : open(place.c_str(), O_WRONLY), stream);
  }
}

[[noreturn]] void become_program(const std::vector<std::string>& arguments,
                                 const std::string& input_file, int out, int err,
                                 const RunWith& with) {
  dup2(open(input_file.c_str(), O_RDONLY), STDIN_FILENO);
  direct(STDOUT_FILENO, with.out_file, out);
  direct(STDERR_FILENO, with.err_file, err);
  close(out);
  close(err);
  if (!with.folder.empty() && chdir(with.folder.c_str()) != 0) _exit(126);
  limit_files(with.largest_file);
  // What starts the tests may have set it to be ignored (a shell's background jobs do).
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> argv{const_cast<char*>(with.program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(with.program.c_str(), argv.data());
  _exit(127);
}

// Reads what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  char buffer[4096];
  ssize_t got = read(fd, buffer, sizeof buffer);
  if (got > 0) into.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

Ended run(const std::vector<std::string>& arguments, const std::string& input,
          const RunWith& with) {
  Scratch scratch;
  std::string input_file = scratch.write("input", input);
  Pipe out, err;
  pid_t child = fork();
  if (child == 0) become_program(arguments, input_file, out.write_end, err.write_end, with);
  close(out.write_end);
  close(err.write_end);
  Ended ended;
  if (with.started) with.started(child);
  bool out_open = true, err_open = true;
  while (out_open || err_open) {
    pollfd fds[2] = {{out_open ? out.read_end : -1, POLLIN, 0},
                     {err_open ? err.read_end : -1, POLLIN, 0}};
    poll(fds, 2, -1);
    if (fds[0].revents) out_open = drain(out.read_end, ended.out);
    if (fds[1].revents) err_open = drain(err.read_end, ended.err);
    if (fds[1].revents && with.watch) with.watch(child, ended.err);
  }
  close(out.read_end);
  close(err.read_end);
  int status = 0;
  waitpid(child, &status, 0);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace

Ended run_program(const std::vector<std::string>& arguments, const std::string& input,
                  const std::string& interrupt_after) {
  bool interrupted = interrupt_after.empty();
  return run(arguments, input, {.watch = [&](int child, const std::string& err) {
               if (interrupted || err.find(interrupt_after) == std::string::npos) return;
               interrupted = true;
               kill(child, SIGINT);
             }});
}

Ended run_program_with(const std::vector<std::string>& arguments, const RunWith& with) {
  return run(arguments, "", with);
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
