#include "serve/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "serve/temporary.hpp"

namespace omnirt::serve {
namespace {
namespace fs = std::filesystem;

TEST(TemporaryFolder, ThoseOfEndedOwnersAreSweptAndNoOthers) {
  Temporary in;
  TemporaryFolder mine = make_temporary_folder(in.path());
  TemporaryFolder left = make_temporary_folder(in.path());
  fs::create_directories(left.path / "jobs" / "x");
  left.lock.close();  // as the system does for a process that is killed
  const fs::path no_lock = in.path() / "omnirt-serve-older", other = in.path() / "other";
  const fs::path file = in.path() / "omnirt-serve-file", link = in.path() / "omnirt-serve-link";
  fs::create_directories(no_lock);
  fs::create_directories(other);
  fs::create_symlink(other, link);
  fs::copy_file(mine.path / "owner.lock", other / "owner.lock");
  fs::copy_file(mine.path / "owner.lock", file);
  sweep_temporary_folders(in.path());
  EXPECT_FALSE(fs::exists(left.path));
  for (const fs::path& each : {mine.path, no_lock, other / "owner.lock", file, link})
    EXPECT_TRUE(fs::exists(each)) << each;
  sweep_temporary_folders(in.path() / "nowhere");
}

TEST(TemporaryFolder, AFolderOfAnotherUserStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  Temporary in;
  TemporaryFolder left = make_temporary_folder(in.path());
  left.lock.close();
  ASSERT_EQ(::chown(left.path.c_str(), 65534, 65534), 0);
  sweep_temporary_folders(in.path());
  EXPECT_TRUE(fs::exists(left.path));
}

}  // namespace
}  // namespace omnirt::serve
