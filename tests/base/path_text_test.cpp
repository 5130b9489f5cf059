#include "base/path_text.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

using Names = std::map<std::filesystem::path, std::string>;

TEST(PathText, IsThePathWhileNothingIsNamed) {
  EXPECT_EQ(path_text("/srv/models/red/unet"), "/srv/models/red/unet");
  EXPECT_EQ(path_text("red/../x"), "red/../x");
  EXPECT_EQ(path_text(""), "");
}

TEST(PathText, IsTheNameOfTheFolderWithTheRest) {
  const PathNames names(Names{{"/srv/models/a/", "red"}, {"/srv/models/a/vae", "other"}});
  EXPECT_EQ(path_text("/srv/models/a"), "red");
  EXPECT_EQ(path_text("/srv/models/a/"), "red");
  EXPECT_EQ(path_text("/srv/models/a/unet/config.json"), "red/unet/config.json");
  EXPECT_EQ(path_text("/srv/models/b/../a/unet"), "red/unet");
  EXPECT_EQ(path_text("/srv/models/a/vae/config.json"), "other/config.json");
}

// A folder is no beginning of another's name.
TEST(PathText, IsTheLastPartOfAnyOtherPath) {
  const PathNames names(Names{{"/srv/models/a", "red"}});
  EXPECT_EQ(path_text("/srv/models/ab/unet"), "unet");
  EXPECT_EQ(path_text("/srv/state/jobs.sqlite"), "jobs.sqlite");
  EXPECT_EQ(path_text("/srv/state/"), "state");
  EXPECT_EQ(path_text("relative/x.png"), "x.png");
  EXPECT_EQ(path_text("/"), "");
}

TEST(PathText, HoldsForAsLongAsTheNamesExist) {
  {
    const PathNames models(Names{{"/srv/a", "red"}});
    const PathNames others(Names{{"/srv/b", "blue"}});
    EXPECT_EQ(path_text("/srv/a/x"), "red/x");
    EXPECT_EQ(path_text("/srv/b/x"), "blue/x");
  }
  EXPECT_EQ(path_text("/srv/a/x"), "/srv/a/x");
}

}  // namespace
}  // namespace omnirt
