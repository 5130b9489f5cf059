#include "cli/say.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.hpp"

namespace omnirt::cli {

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void say_lines(std::string_view text) {
  put(printable_lines(text));
}

void say_json(const Json& json) {
  put(printable_json(json.dump(2)) + "\n");
}

void flush_output() {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed) return;
  throw RunFailed("standard output could not be written: " +
                  std::generic_category().message(errno ? errno : EIO));
}

}  // namespace omnirt::cli
