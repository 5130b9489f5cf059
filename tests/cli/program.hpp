#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace omnirt::testing {

struct Ended {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

// Runs the program that this build made. `interrupt_after_line`: sent Ctrl-C once standard error
// holds this text.
Ended run_program(const std::vector<std::string>& arguments, const std::string& input = "",
                  const std::string& interrupt_after_line = "");

// In place of a file's path: a stream that is closed, or a pipe whose reader has left.
inline constexpr const char* closed_stream = "<closed>";
inline constexpr const char* broken_pipe = "<broken pipe>";

// How a run differs from the usual.
struct RunWith {
  std::string program = OMNIRT_PROGRAM;
  std::filesystem::path folder = {};  // its working directory
  std::string out_file = {};          // where its standard output goes instead of Ended::out
  std::string err_file = {};          // where its standard error goes instead of Ended::err
  size_t largest_file = 0;            // bytes that it may write into one file; 0: any
  // Called with its process id at its start.
  std::function<void(int)> started = {};
  // Called with its process id whenever standard error has grown, with all of it so far.
  std::function<void(int, const std::string&)> watch = {};
};
Ended run_program_with(const std::vector<std::string>& arguments, const RunWith& with);

// A folder that lives as long as the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const;
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

}  // namespace omnirt::testing
