// Edits of a family's list reach the loops that run its blocks themselves.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/denoise.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "io/temp_folder.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/loop_part.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Passes all on to the loop that it replaces, and counts the calls of the network.
class CountedLoop final : public WalkLoop {
 public:
  CountedLoop(std::shared_ptr<const WalkLoop> loop, std::shared_ptr<int> calls)
      : WalkLoop("denoise", Stage::denoise_loop, Guidance::takes_over),
        loop_(std::move(loop)),
        calls_(std::move(calls)) {
    adopt_ports(*loop_);
  }
  Walk begin(Frame& frame) const override {
    return frame.within(*loop_, [&] { return loop_->begin(frame); });
  }
  bool want(Frame& frame, Walk& walk, std::vector<Row>& rows) const override {
    return frame.within(*loop_, [&] { return loop_->want(frame, walk, rows); });
  }
  void accept(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const override {
    ++*calls_;
    frame.within(*loop_, [&] { loop_->accept(frame, walk, predictions); });
  }
  void finish(Frame& frame, Walk& walk) const override {
    frame.within(*loop_, [&] { loop_->finish(frame, walk); });
  }
  Denoiser denoiser(Frame& frame) const override {
    return frame.within(*loop_, [&] { return loop_->denoiser(frame); });
  }
  void check(Checks& checks) const override {
    Checks of_loop = checks.within(*loop_);
    loop_->check(of_loop);
  }

 private:
  std::shared_ptr<const WalkLoop> loop_;
  std::shared_ptr<int> calls_;
};

// Counts its turns; does nothing.
class Counted final : public Block {
 public:
  Counted(const std::string& name, Stage stage, std::shared_ptr<int> turns, Trigger trigger = {})
      : Block(name, stage, Guidance::shared, std::move(trigger)), turns_(std::move(turns)) {}
  void run(Frame&) const override { ++*turns_; }

 private:
  std::shared_ptr<int> turns_;
};

// A loop with a value of its own, which windows could not keep apart.
class LoopWithMore final : public WalkLoop {
 public:
  Output<Tensor> momentum{this, "momentum", "of its own"};
  LoopWithMore() : WalkLoop("denoise", Stage::denoise_loop) {}
  Walk begin(Frame&) const override { return {}; }
  bool want(Frame&, Walk&, std::vector<Row>&) const override { return false; }
  void accept(Frame&, Walk&, const std::vector<Tensor>&) const override {}
  void finish(Frame&, Walk&) const override {}
  Denoiser denoiser(Frame&) const override { throw InternalError("not asked"); }
};

std::shared_ptr<const WalkLoop> loop_of(const BlockList& list) {
  for (const auto& block : list) {
    if (block->name() == "denoise") return std::static_pointer_cast<const WalkLoop>(block);
  }
  return nullptr;
}

// Wider than 64 pixels: in windows, one for each 8 pixels more and the first.
GenerateRequest picture(int64_t width) {
  GenerateRequest request;
  request.model = source_path("tests/goldens/pipelines/sd15/model").string();
  request.inputs["prompt"] = "a sea";
  request.config = {{"seed", 4},
                    {"num_inference_steps", 3},
                    {"scheduler", "ddim"},
                    {"width", width},
                    {"height", 64}};
  if (width > 64) request.config["window_size"] = 64;
  return request;
}

GenerateRequest video(int64_t chunks) {
  GenerateRequest request;
  fs::path videos = source_path("tests/goldens/videos");
  request.model = (videos / "svd_flat" / "model").string();
  request.inputs["image"] = (videos / "in.png").string();
  request.config = {
      {"width", 16}, {"height", 16}, {"num_inference_steps", 2}, {"num_frames", 2}, {"seed", 5}};
  if (chunks) request.config["num_chunks"] = chunks;
  return request;
}

RunReport run_with(Catalogue catalogue, GenerateRequest request) {
  TempFolder folder;
  request.config["output_dir"] = folder.path().string();
  if (request.inputs.contains("image")) request.config["output_format"] = "frames";
  Engine engine(std::move(catalogue));
  RunReport report;
  engine.run(request, {}, {}, report);
  return report;
}

std::string refusal(auto&& edit) {
  try {
    edit();
  } catch (const InvalidRequest& thrown) {
    return thrown.what();
  }
  return "";
}

TEST(InnerBlocks, AReplacedLoopRunsInEveryWindow) {
  Catalogue catalogue = builtin_catalogue();
  BlockList& list = catalogue.family("sd").blocks;
  auto calls = std::make_shared<int>(0);
  replace(list, "denoise", std::make_shared<CountedLoop>(loop_of(list), calls));
  run_with(catalogue, picture(64));
  EXPECT_EQ(*calls, 3);
  *calls = 0;
  RunReport report = run_with(catalogue, picture(80));
  EXPECT_EQ(*calls, 3 * 3);
  // The loop over windows runs it; it does not run by itself as well.
  EXPECT_THAT(report.workflow, HasSubstr("denoise_windows"));
  EXPECT_THAT(report.workflow, ::testing::Not(HasSubstr("denoise >")));
}

TEST(InnerBlocks, AReplacedOrInsertedBlockPreparesEveryChunk) {
  Catalogue catalogue = builtin_catalogue();
  BlockList& list = catalogue.family("svd").blocks;
  auto calls = std::make_shared<int>(0), turns = std::make_shared<int>(0),
       outside = std::make_shared<int>(0);
  replace(list, "denoise", std::make_shared<CountedLoop>(loop_of(list), calls));
  insert_before(list, "prepare_video_latents",
                std::make_shared<Counted>("counted", Stage::prepare_latents, turns));
  insert_before(list, "encode_first_images",
                std::make_shared<Counted>("outside", Stage::prepare_conditions, outside));
  run_with(catalogue, video(3));
  EXPECT_EQ(*calls, 3 * 2);
  EXPECT_EQ(*turns, 3);
  EXPECT_EQ(*outside, 1);
  remove(list, "counted");
  run_with(catalogue, video(2));
  EXPECT_EQ(*turns, 3);
}

TEST(InnerBlocks, ABlockWithATriggerRunsInEachChunkWhereItHolds) {
  Catalogue catalogue = builtin_catalogue();
  BlockList& list = catalogue.family("svd").blocks;
  auto turns = std::make_shared<int>(0), never = std::make_shared<int>(0);
  insert_before(
      list, "prepare_video_latents",
      std::make_shared<Counted>("sometimes", Stage::prepare_latents, turns, has("image")));
  insert_before(list, "prepare_video_latents",
                std::make_shared<Counted>("never", Stage::prepare_latents, never, has("mask")));
  run_with(catalogue, video(2));
  EXPECT_EQ(*turns, 2);
  run_with(catalogue, video(0));
  EXPECT_EQ(*turns, 3);
  EXPECT_EQ(*never, 0);
}

// Counts the steps, and notes their numbers.
class CountSteps final : public DenoisePart {
 public:
  explicit CountSteps(std::shared_ptr<std::vector<size_t>> steps)
      : DenoisePart("count_steps"), steps_(std::move(steps)) {}
  void run(Frame&, const StepAt& at) const override { steps_->push_back(at.i); }

 private:
  std::shared_ptr<std::vector<size_t>> steps_;
};

TEST(InnerBlocks, ABlockOfTheDenoiseLoopRunsInEveryWindowAndChunk) {
  auto steps = std::make_shared<std::vector<size_t>>();
  Catalogue catalogue = builtin_catalogue();
  for (const char* family : {"sd", "svd"})
    insert_after(catalogue.family(family).blocks, "denoise.step",
                 std::make_shared<CountSteps>(steps));
  run_with(catalogue, picture(80));
  EXPECT_THAT(*steps, ::testing::ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2));
  steps->clear();
  run_with(catalogue, video(2));
  EXPECT_THAT(*steps, ::testing::ElementsAre(0, 1, 0, 1));
}

// An edit makes a copy of the loop, which must be of the same kind.
TEST(InnerBlocks, EveryDenoiseLoopOfTheCatalogueTakesABlock) {
  auto steps = std::make_shared<std::vector<size_t>>();
  Catalogue catalogue = builtin_catalogue();
  size_t edited = 0;
  for (Family& family : catalogue.families) {
    for (const std::string& name : block_names(family.blocks)) {
      const BlockList inner = block_of(family.blocks, name)->inner();
      if (inner.empty() || inner.front()->name() != "prepare_input") continue;
      insert_after(family.blocks, name + ".step", std::make_shared<CountSteps>(steps));
      EXPECT_EQ(block_names(block_of(family.blocks, name)->inner()).back(), "count_steps");
      ++edited;
    }
  }
  EXPECT_GT(edited, 20u);
}

TEST(InnerBlocks, EditsThatALoopCannotTakeOverAreRefusedAndChangeNothing) {
  Catalogue catalogue = builtin_catalogue();
  BlockList& sd = catalogue.family("sd").blocks;
  BlockList& svd = catalogue.family("svd").blocks;
  const std::vector<std::string> names = block_names(sd);
  auto turns = std::make_shared<int>(0);
  auto plain = std::make_shared<Counted>("denoise", Stage::denoise_loop, turns);
  for (const std::string& refused :
       {refusal([&] { remove(sd, "denoise"); }), refusal([&] { replace(sd, "denoise", plain); }),
        refusal([&] { replace(sd, "denoise", std::make_shared<LoopWithMore>()); })})
    EXPECT_THAT(refused, HasSubstr("remove(list, \"denoise_windows\") first"));
  EXPECT_THAT(refusal([&] { remove(svd, "denoise"); }),
              HasSubstr("remove(list, \"denoise_chunks\") first"));
  EXPECT_EQ(block_names(sd), names);
  remove(sd, "denoise_windows");
  EXPECT_EQ(remove(sd, "denoise")->name(), "denoise");
}

TEST(InnerBlocks, AListThatWasChangedPastTheEditsIsRefused) {
  Catalogue catalogue = builtin_catalogue();
  BlockList& list = catalogue.family("sd").blocks;
  auto calls = std::make_shared<int>(0);
  for (auto& block : list) {
    if (block->name() == "denoise") block = std::make_shared<CountedLoop>(loop_of(list), calls);
  }
  EXPECT_THAT(refusal([&] { run_with(catalogue, picture(80)); }),
              AllOf(HasSubstr("denoise_windows"), HasSubstr("replace")));
}

}  // namespace
}  // namespace omnirt::testing
