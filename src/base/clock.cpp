#include "base/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace omnirt {

double process_age_ms() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  timespec now{};
  long ticks = sysconf(_SC_CLK_TCK);
  if (!std::getline(file, line) || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  // The second field is the program's name in brackets, whatever characters it has; the start, in
  // ticks since the machine's, is the 22nd (proc_pid_stat(5)).
  size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) {
    if (!(fields >> field)) return 0;
  }
  double started = std::strtod(field.c_str(), nullptr) / static_cast<double>(ticks);
  double seconds = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  return std::max(0.0, (seconds - started) * 1000);
}

}  // namespace omnirt
