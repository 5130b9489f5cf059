#include "io/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace omnirt::io {

void hold_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool closed = fcntl(stream, F_GETFD) < 0 && errno == EBADF;
    // open() takes the lowest free number, which is this one: those before it are in use.
    if (closed && ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace omnirt::io
