#include "io/temporaries.hpp"

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <set>
#include <system_error>

namespace omnirt::io {
namespace fs = std::filesystem;
namespace {

struct Temporaries {
  std::timed_mutex mutex;
  std::set<fs::path> paths;
};

Temporaries& temporaries() {
  // Never destroyed: the process may be asked to end while its statics are.
  static auto* made = new Temporaries;
  return *made;
}

// A thread may still be writing into a folder while it is emptied.
void remove_whole(const fs::path& path) {
  constexpr int attempts = 100;
  std::error_code error;
  for (int i = 0; i < attempts; ++i) {
    fs::remove_all(path, error);
    if (!error) return;
  }
}

}  // namespace

fs::path keep_temporary(const std::function<fs::path()>& make) {
  std::scoped_lock lock(temporaries().mutex);
  fs::path made = make();
  temporaries().paths.insert(fs::absolute(made));
  return made;
}

void forget_temporary(const fs::path& path) noexcept {
  std::error_code error;
  fs::path known = fs::absolute(path, error);
  std::scoped_lock lock(temporaries().mutex);
  temporaries().paths.erase(known);
}

void quit_without_temporaries(int exit_code) noexcept {
  // The holder of the lock is making one; on a file system that hangs it may never be done.
  constexpr std::chrono::milliseconds patience{300};
  if (temporaries().mutex.try_lock_for(patience)) {
    for (const fs::path& path : temporaries().paths) remove_whole(path);
  }
  ::_exit(exit_code);
}

}  // namespace omnirt::io
