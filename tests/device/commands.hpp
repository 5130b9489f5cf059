#pragma once
#include <string>
#include <vector>

namespace omnirt::testing {

struct GoldensOptions {
  std::string backend;
  std::vector<std::string> levels{"eager", "kernel_override", "compile"};
  std::vector<std::string> dtypes{"fp32"};
  std::string filter;
  bool first = false;
  size_t shards = 1;
  size_t shard = 0;
  size_t after = 0;
};

// Writes {"begins": ...} and then the record of each run on standard output, so that whoever reads
// it knows which run ended the process. Returns 0 where all ran, whether they passed or not; 86
// where the device is lost to this process, so that another one must go on after the last record.
int run_goldens(const GoldensOptions& options);

struct ProfileOptions {
  std::string request;
  std::string trace;
};

// Writes {"ops": [{name, calls, ms, on}], "step_ms"} of the last step on standard output.
int run_profile(const ProfileOptions& options);

}  // namespace omnirt::testing
