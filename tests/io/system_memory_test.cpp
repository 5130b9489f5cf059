#include "io/system_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace omnirt::io {
namespace {
namespace fs = std::filesystem;

// A machine with 8 GiB available, as /proc and /sys show it.
class Machine : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void group(const std::string& path, const std::string& max, uint64_t holds, uint64_t of_files) {
    const std::string folder = "sys/fs/cgroup" + path + "/";
    write(folder + "memory.max", max + "\n");
    write(folder + "memory.current", std::to_string(holds) + "\n");
    write(folder + "memory.stat", "anon 1\ninactive_file " + std::to_string(of_files / 2) +
                                      "\nactive_file " + std::to_string(of_files / 2) + "\n");
  }
  double available() const { return available_memory_gb(root_); }

  static constexpr uint64_t gib = uint64_t{1} << 30;
  fs::path root_;
};

TEST_F(Machine, GivesWhatTheKernelSaysWhereNoGroupLimitsIt) {
  EXPECT_EQ(available(), 8);
  write("proc/self/cgroup", "4:memory:/v1\n0::/user/me\n");
  group("/user/me", "max", gib, 0);
  EXPECT_EQ(available(), 8);
}

TEST_F(Machine, GivesWhatTheTightestGroupLeavesPagesOfFilesApart) {
  write("proc/self/cgroup", "0::/user/me\n");
  group("/user/me", std::to_string(6 * gib), 3 * gib, 2 * gib);
  EXPECT_EQ(available(), 5);
  group("/user", std::to_string(4 * gib), 2 * gib, 0);
  EXPECT_EQ(available(), 2);
  group("/user/me", std::to_string(gib), 3 * gib, 0);
  EXPECT_EQ(available(), 0);
}

TEST_F(Machine, TakesTheGroupThatAContainerMounts) {
  write("proc/self/cgroup", "0::/\n");
  group("", std::to_string(2 * gib), gib, 0);
  EXPECT_EQ(available(), 1);
}

TEST_F(Machine, IsNotLimitedByWhatIsNotSaid) {
  fs::remove(root_ / "proc/meminfo");
  EXPECT_GT(available(), 1e6);
}

}  // namespace
}  // namespace omnirt::io
