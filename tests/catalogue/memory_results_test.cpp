// Results in memory: the pixels that files would hold, with and without these files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "catalogue/support.hpp"
#include "io/image.hpp"
#include "io/temp_folder.hpp"
#include "request/validate.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Given {
  ArtifactReport report;
  std::vector<io::Image> images;
};

struct Ran {
  RunReport report;
  std::vector<Given> given;
};

Ran run_with(const GenerateRequest& request, Files files) {
  Ran ran;
  RunHooks hooks;
  hooks.on_artifact = [&](const Artifact& artifact) {
    ran.given.push_back({artifact.report, {artifact.images.begin(), artifact.images.end()}});
  };
  engine().run(request, {.files = files}, hooks, ran.report);
  return ran;
}

GenerateRequest two_apples() {
  GenerateRequest request;
  request.model = "emoji-sd";
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", 5}, {"num_inference_steps", 2}, {"num_images_per_prompt", 2}};
  return request;
}

GenerateRequest tiny_video() {
  return folder_request(source_path("tests/goldens/videos/svd_flat/discrete"));
}

// Relative outputs begin here while it lives.
class WorkingFolder {
 public:
  WorkingFolder() { fs::current_path(folder_.path()); }
  ~WorkingFolder() { fs::current_path(before_); }
  const fs::path& path() const { return folder_.path(); }

 private:
  fs::path before_ = fs::current_path();
  TempFolder folder_;
};

TEST(MemoryResults, AreThePixelsOfTheFilesThatAreWritten) {
  TempFolder folder;
  GenerateRequest request = two_apples();
  request.config["output"] = (folder.path() / "apple.png").string();
  Ran ran = run_with(request, Files::always);
  ASSERT_EQ(ran.given.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const Given& given = ran.given[i];
    EXPECT_EQ(given.report.path, ran.report.artifacts[i].path);
    EXPECT_EQ(given.report.seed, 5 + i);
    ASSERT_EQ(given.images.size(), 1);
    EXPECT_EQ(given.images[0].channels, 3);
    EXPECT_EQ(given.images[0], io::read_image(given.report.path));
  }
}

TEST(MemoryResults, AreTheSameWhereNoPlaceIsNamedAndNothingIsWritten) {
  WorkingFolder here;
  Ran in_memory = run_with(two_apples(), Files::where_named);
  EXPECT_TRUE(fs::is_empty(here.path()));
  ASSERT_EQ(in_memory.report.artifacts.size(), 2);
  EXPECT_THAT(in_memory.report.artifacts[0].path, IsEmpty());
  EXPECT_THAT(in_memory.report.artifacts[0].mime, IsEmpty());
  Ran written = run_with(two_apples(), Files::always);
  ASSERT_EQ(in_memory.given.size(), 2);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(in_memory.given[i].images[0], io::read_image(written.report.artifacts[i].path));
}

TEST(MemoryResults, ComeWithFilesWhereTheRequestNamesAPlace) {
  WorkingFolder here;
  GenerateRequest named = two_apples();
  named.config["output"] = "apple_{seed}.png";
  run_with(named, Files::where_named);
  EXPECT_TRUE(fs::exists(here.path() / "apple_5.png"));
  GenerateRequest folder = two_apples();
  folder.config["output_dir"] = "apples";
  EXPECT_EQ(fs::path(run_with(folder, Files::where_named).report.artifacts[0].path).parent_path(),
            here.path() / "apples");
}

TEST(MemoryResults, OfAVideoAreItsFrames) {
  WorkingFolder here;
  Ran in_memory = run_with(tiny_video(), Files::where_named);
  EXPECT_TRUE(fs::is_empty(here.path()));
  GenerateRequest request = tiny_video();
  request.config["output"] = "frames";
  request.config["output_format"] = "frames";
  Ran written = run_with(request, Files::always);
  ASSERT_EQ(in_memory.given.size(), 1);
  const Given& video = in_memory.given[0];
  ASSERT_EQ(video.images.size(), static_cast<size_t>(video.report.frames));
  EXPECT_EQ(video.report.width, video.images[0].width);
  EXPECT_EQ(video.report.fps, written.report.artifacts[0].fps);
  size_t i = 0;
  for (; i < video.images.size(); ++i) {
    fs::path file = here.path() / "frames" / fmt::format("{:06}.png", i);
    EXPECT_EQ(video.images[i], io::read_image(file)) << i;
  }
  EXPECT_FALSE(fs::exists(here.path() / "frames" / fmt::format("{:06}.png", i)));
}

TEST(MemoryResults, LatentsAreAFileInAnyCase) {
  WorkingFolder here;
  GenerateRequest request = folder_request(source_path("tests/goldens/pipelines/sdxl/no_guidance"));
  request.config["output_type"] = "latent";
  Ran ran = run_with(request, Files::where_named);
  ASSERT_EQ(ran.given.size(), 1);
  EXPECT_THAT(ran.given[0].images, IsEmpty());
  EXPECT_TRUE(fs::is_regular_file(ran.given[0].report.path));
}

TEST(MemoryResults, ACallerWhoFailsToTakeThemLeavesNoFiles) {
  TempFolder folder;
  GenerateRequest request = two_apples();
  request.config["output"] = (folder.path() / "apple.png").string();
  RunHooks hooks;
  hooks.on_artifact = [](const Artifact&) { throw std::runtime_error("no room"); };
  RunReport report;
  EXPECT_THROW(engine().run(request, {}, hooks, report), RunFailed);
  EXPECT_THAT(report.error->message, HasSubstr("no room"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(MemoryResults, NeedNoFolderThatFilesCouldBeWrittenTo) {
  WorkingFolder here;
  std::ofstream(here.path() / "out") << "a file where the default folder would be made";
  EXPECT_FALSE(engine().check(two_apples(), {}).ok());
  EXPECT_TRUE(engine().check(two_apples(), {.files = Files::where_named}).ok());
}

}  // namespace
}  // namespace omnirt::testing
