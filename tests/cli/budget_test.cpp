// Memory budgets held against the kernel: the program runs under a limit of the kernel's own, and
// what it has is sampled from outside. cgroup v2's memory.max where this user may set it, else
// RLIMIT_DATA. Nothing is said of how long anything takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/json.hpp"
#include "cli/program.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t mib = uint64_t{1} << 20;

// Of /proc/PID/status, in bytes; 0 where the process is gone.
uint64_t status_of(int process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::string word, unit;
  uint64_t kibibytes = 0;
  while (file >> word) {
    if (word == name + ":" && file >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

// A group that the program is put into, removed again with it.
class MemoryGroup {
 public:
  // None for 0.
  explicit MemoryGroup(uint64_t bytes) {
    if (bytes == 0) return;
    const fs::path folder = "/sys/fs/cgroup/omnirt-test-" + std::to_string(getpid());
    std::error_code error;
    std::ifstream controllers("/sys/fs/cgroup/cgroup.subtree_control");
    std::string name;
    bool there = false;
    while (controllers >> name) there |= name == "memory";
    if (!there || !fs::create_directory(folder, error) || error) return;
    std::ofstream limit(folder / "memory.max");
    if (!(limit << bytes << std::flush)) {
      fs::remove(folder, error);
      return;
    }
    folder_ = folder;
  }
  ~MemoryGroup() {
    std::error_code error;
    if (set()) fs::remove(folder_, error);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  bool set() const { return !folder_.empty(); }
  std::string shell_to_join() const { return "echo $$ > " + (folder_ / "cgroup.procs").string(); }

 private:
  fs::path folder_;
};

struct Limited {
  Ended ended;
  uint64_t most_anon = 0, most_resident = 0;  // sampled
};

// What the process maps to write and never touches: stacks of threads, the heap's reserve, and data
// of libraries. RLIMIT_DATA counts all that is mapped so.
constexpr uint64_t untouched = 16 * mib;

Limited run_limited(const std::vector<std::string>& arguments, uint64_t bytes,
                    bool in_group = true) {
  const MemoryGroup group(in_group ? bytes : 0);
  const std::string limit = group.set() ? group.shell_to_join()
                                        : "ulimit -d " + std::to_string((bytes + untouched) / 1024);
  std::vector<std::string> all{"-c", limit + "; exec \"$0\" \"$@\"", OMNIRT_PROGRAM};
  all.insert(all.end(), arguments.begin(), arguments.end());
  Limited limited;
  std::atomic<bool> ended{false};
  std::jthread sampler;
  RunWith with{.program = "/bin/sh"};
  with.started = [&](int process) {
    sampler = std::jthread([&, process] {
      while (!ended) {
        limited.most_anon = std::max(limited.most_anon, status_of(process, "RssAnon"));
        limited.most_resident = std::max(limited.most_resident, status_of(process, "VmRSS"));
      }
    });
  };
  limited.ended = run_program_with(all, with);
  ended = true;
  return limited;
}

std::vector<std::string> request_with(const std::vector<std::string>& more) {
  std::vector<std::string> all{"-p",      "a red apple", "--seed",   "1",   "--steps",   "2",
                               "--width", "128",         "--height", "128", "--threads", "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

uint64_t least_of(const std::string& offload) {
  std::vector<std::string> arguments{"validate", "--json"};
  for (const std::string& each : request_with({"--offload", offload, "--memory-budget", "1MB"}))
    arguments.push_back(each);
  const Json told = Json::parse(run_program(arguments).out);
  return told["memory_plan"]["predicted_peak_bytes"].get<uint64_t>();
}

class BudgetHeld : public ::testing::TestWithParam<const char*> {};

TEST_P(BudgetHeld, UnderALimitOfTheKernels) {
  const Scratch folder;
  const uint64_t budget = least_of(GetParam()) + 4 * mib;
  std::vector<std::string> arguments{"generate", "-q"};
  for (const std::string& each :
       request_with({"--offload", GetParam(), "--memory-budget", std::to_string(budget), "-o",
                     folder.file("a.png"), "--report", folder.file("report.json")}))
    arguments.push_back(each);
  const Limited limited = run_limited(arguments, budget);
  ASSERT_EQ(limited.ended.exit_code, 0) << limited.ended.err;
  EXPECT_GT(limited.most_anon, 0u);
  EXPECT_LE(limited.most_anon, budget);
  EXPECT_LE(limited.most_resident, budget);
  std::ifstream file(folder.file("report.json"));
  const Json report = Json::parse(file);
  EXPECT_LE(report["memory"]["peak_rss_bytes"].get<uint64_t>(), budget);  // the kernel's VmHWM
  EXPECT_EQ(report["memory"]["plan"]["offload"], GetParam());
}

INSTANTIATE_TEST_SUITE_P(Offloads, BudgetHeld, ::testing::Values("component", "group", "leaf"),
                         [](const auto& info) { return std::string(info.param); });

// The limit takes hold: a run that is not planned within it ends with an error of its own.
TEST(BudgetLimit, EndsARunThatNeedsMoreWithAnErrorNotACrash) {
  const Scratch folder;
  const Limited limited =
      run_limited({"generate", "-q", "-p", "a red apple", "--seed", "1", "--steps", "1", "--width",
                   "1024", "--height", "1024", "--threads", "1", "-o", folder.file("a.png")},
                  100 * mib, /*in_group=*/false);
  EXPECT_EQ(limited.ended.exit_code, 3) << limited.ended.err;
  EXPECT_THAT(limited.ended.err, HasSubstr("the machine has no more memory for this request"));
}

}  // namespace
}  // namespace omnirt::testing
