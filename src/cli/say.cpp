#include "cli/say.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.hpp"

namespace omnirt::cli {

namespace {

// The reason of the first write to standard output that failed; later ones may have another.
int output_error = 0;

void keep_error(bool failed) {
  if (failed && output_error == 0) output_error = errno ? errno : EIO;
}

}  // namespace

void put(std::string_view text) {
  errno = 0;
  keep_error(std::fwrite(text.data(), 1, text.size(), stdout) < text.size());
}

void put_note(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

void say_lines(std::string_view text) {
  put(printable_lines(text));
}

void say_json(const Json& json) {
  // Paths need not be UTF-8.
  put(printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n");
}

bool flush_output() {
  errno = 0;
  keep_error(std::fflush(stdout) != 0 || std::ferror(stdout) != 0);
  if (output_error == 0) return true;
  if (output_error == EPIPE) return false;
  throw RunFailed("standard output could not be written: " +
                  std::generic_category().message(output_error));
}

}  // namespace omnirt::cli
