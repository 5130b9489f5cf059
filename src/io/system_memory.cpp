#include "io/system_memory.hpp"

#include <fstream>
#include <string>

namespace omnirt::io {

double available_memory_gb() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  double kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes / (1 << 20);
    std::getline(file, unit);
  }
  return 1e9;
}

}  // namespace omnirt::io
