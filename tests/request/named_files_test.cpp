#include "request/named_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "io/cached_path.hpp"
#include "io/temp_folder.hpp"
#include "request/model_search.hpp"

namespace omnirt {
namespace {
namespace fs = std::filesystem;
using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::HasSubstr;

void touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
}

// The program looks for models in this folder while it lives.
class Models {
 public:
  Models() { setenv("OMNIRT_MODELS", folder_.path().c_str(), 1); }
  ~Models() { unsetenv("OMNIRT_MODELS"); }
  fs::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  TempFolder folder_;
};

fs::path found(const std::string& name) {
  return find_adapter(name, "/nowhere/" + name, "adapters[0].path");
}

std::string refused(const std::string& name) {
  return message_of<InvalidRequest>([&] { found(name); });
}

TEST(NamedFiles, AreFoundWithSuffixesInAnyCase) {
  const Models models;
  touch(models / "loras/UPPER.SafeTensors");
  touch(models / "checkpoints/Model.SAFETENSORS");
  EXPECT_EQ(found("UPPER"), models / "loras/UPPER.SafeTensors");
  EXPECT_EQ(found("UPPER.SafeTensors"), models / "loras/UPPER.SafeTensors");
  EXPECT_EQ(find_model("Model", {}), models / "checkpoints/Model.SAFETENSORS");
}

TEST(NamedFiles, OfAdaptersAreFoundInFoldersBelowTheirFolder) {
  const Models models;
  touch(models / "loras/sub/deeper/deep.safetensors");
  touch(models / "embeddings/xl/hand.safetensors");
  EXPECT_EQ(found("deep"), models / "loras/sub/deeper/deep.safetensors");
  EXPECT_EQ(found("deep.safetensors"), models / "loras/sub/deeper/deep.safetensors");
  EXPECT_EQ(found("sub/deeper/deep"), models / "loras/sub/deeper/deep.safetensors");
  EXPECT_EQ(found("hand"), models / "embeddings/xl/hand.safetensors");
}

TEST(NamedFiles, OfSeveralFoldersMustBeNamedWithTheirFolder) {
  const Models models;
  touch(models / "loras/a/style.safetensors");
  touch(models / "loras/b/style.safetensors");
  EXPECT_THAT(refused("style"), HasSubstr("2 files have this name"));
  EXPECT_EQ(found("b/style"), models / "loras/b/style.safetensors");
}

TEST(NamedFiles, AreRefusedWithThePlacesThatWereSearched) {
  const Models models;
  touch(models / "loras/note.txt");
  EXPECT_THAT(refused("nothing"), HasSubstr("and its loras, Lora and embeddings"));
  EXPECT_THAT(refused("note"), HasSubstr("no such adapter"));
}

TEST(CachedPath, NamesTheRepositoryOfACopy) {
  const std::string cache = "/c/hub/models--stabilityai--sdxl-turbo";
  EXPECT_EQ(io::cached_repository(cache + "/snapshots/0123/unet/config.json"),
            "stabilityai/sdxl-turbo");
  EXPECT_EQ(io::cached_repository(cache + "/blobs/0123"), "");
  EXPECT_EQ(io::cached_repository("/models/sdxl/unet"), "");
  EXPECT_THAT(io::fix_of_file(cache + "/snapshots/0123/x", ""),
              HasSubstr("omnirt pull stabilityai/sdxl-turbo"));
  EXPECT_EQ(io::fix_of_file("/models/x", "check the path"), "check the path");
}

}  // namespace
}  // namespace omnirt
