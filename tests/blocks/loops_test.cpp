// Loops that are made of blocks, over a network that returns half of what it is given.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/denoise.hpp"
#include "blocks/video_noise.hpp"
#include "blocks/windows.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/chunk_loop.hpp"
#include "pipeline/plan.hpp"

namespace omnirt::blocks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Log = std::shared_ptr<std::vector<std::string>>;

// Subtracts the prediction, and draws noise that it does not use.
class Subtract final : public Scheduler {
 public:
  StepResult step(const Tensor& output, size_t, const Tensor& sample, Noise& noise) override {
    noise.randn(sample.sizes());
    return {sample - output, sample - 2 * output};
  }
  Tensor add_noise(const Tensor& original, const Tensor&, size_t) const override {
    return original;
  }

 protected:
  void plan_run(const StepPlan& plan) override {
    for (int64_t i = plan.num_inference_steps; i > 0; --i)
      timesteps_.push_back(static_cast<double>(i * 10));
  }
};

// Predicts half of the input, for each image in a separate row.
class Halve final : public PredictPart {
 public:
  Input<Tensor> model_input{this, slots::model_input};
  Output<Tensor> prediction{this, slots::prediction};

  explicit Halve(Log rows = nullptr) : PredictPart("predict"), rows_(std::move(rows)) {}
  void begin(Frame&, Walk&) const override {}
  void ask(Frame& frame, Walk&, std::vector<Row>& rows) const override {
    const Tensor& input = frame[model_input];
    for (int64_t i = 0; i < input.size(0); ++i)
      rows.push_back({{0, static_cast<uint32_t>(i)}, {{"sample", {input.narrow(0, i, 1)}}}});
  }
  void take(Frame& frame, Walk&, const std::vector<Tensor>& predictions) const override {
    frame[prediction] = at::cat(predictions);
  }
  Denoiser denoiser(Frame&) const override {
    auto half = [rows = rows_](const RowBatch& batch) {
      for (const RowId& row : batch.rows) {
        if (rows) rows->push_back(fmt::format("image {}", row.image));
      }
      return one(batch.inputs, "sample") / 2;
    };
    return {half, 8};
  }

 private:
  Log rows_;
};

// Notes the step that it runs at.
class NoteStep final : public DenoisePart {
 public:
  NoteStep(const std::string& name, Log log) : DenoisePart(name), log_(std::move(log)) {}
  void run(Frame&, const StepAt& at) const override {
    log_->push_back(fmt::format("{} {}/{} at {}", name(), at.i, at.steps, at.t));
  }

 private:
  Log log_;
};

class NoteChunk final : public ChunkPart {
 public:
  NoteChunk(const std::string& name, Log log)
      : ChunkPart(name, Stage::prepare_latents), log_(std::move(log)) {}
  void run(Frame&, const ChunkAt& at) const override {
    log_->push_back(fmt::format("{} {}/{}", name(), at.k, at.chunks));
  }

 private:
  Log log_;
};

// Takes the place of `step`: the latents are the prediction, and what it made before is counted.
class Keep final : public DenoisePart {
 public:
  Input<Tensor> prediction{this, slots::prediction};
  OptionalInput<double> before{this, "turns", "how often it ran"};
  InOut<Tensor> latents{this, slots::latents};

  Keep() : DenoisePart("step") {}
  void run(Frame& frame, const StepAt& at) const override {
    const double* turns = frame[before];
    EXPECT_EQ(turns ? *turns : 0, static_cast<double>(at.i));
    frame[latents] = frame[prediction].clone();
  }
};

class Count final : public DenoisePart {
 public:
  Output<double> turns{this, "turns", "how often it ran"};
  Count() : DenoisePart("count") {}
  void run(Frame& frame, const StepAt& at) const override {
    frame[turns] = static_cast<double>(at.i) + 1;
  }
};

// The noise of a chunk: ones, and what the chunk before left.
class FreshLatents final : public Block {
 public:
  Output<Tensor> latents{this, slots::latents};
  Output<Schedule> schedule{this, slots::schedule};
  explicit FreshLatents(std::string name = "fresh_latents")
      : Block(std::move(name), Stage::prepare_latents) {}
  void run(Frame& frame) const override {
    Tensor& now = frame[latents];
    now = now.defined() ? now + 1 : at::ones({2, 1, 2, 2});
    auto scheduler = std::make_shared<Subtract>();
    scheduler->set_timesteps({.num_inference_steps = 2});
    frame[schedule] = {std::move(scheduler)};
  }
};

BlockList halving(Log rows = nullptr) {
  return {std::make_shared<PrepareInput>(), std::make_shared<Halve>(std::move(rows)),
          std::make_shared<TakeStep>()};
}

std::shared_ptr<const DenoiseLoop> denoise(BlockList parts = halving()) {
  return std::make_shared<DenoiseLoop>(DenoiseOptions{.parts = std::move(parts)});
}

constexpr Key<int64_t> chunks{"chunks", int64_t{1}, {1, 9}, "", "chunks"};
constexpr Key<int64_t> parts_of_chunk{"parts", int64_t{1}, {1, 9}, "", "parts of a chunk"};

// A frame that holds what a loop reads, and the config of loops over chunks.
struct LoopRun {
  explicit LoopRun(int64_t chunk_count = 1, int64_t part_count = 1) {
    config.set("chunks", chunk_count, Origin::user);
    config.set("parts", part_count, Origin::user);
    Noise noise(std::vector<uint64_t>{1, 2});
    frame.put(slots::noise_source.name, std::make_shared<Noise>(std::move(noise)));
    frame.enter(&fresh, nullptr);
    fresh.run(frame);
  }
  Tensor latents_after(const LoopBlock& loop) {
    frame.enter(&loop, nullptr);
    loop.run(frame);
    return *frame.peek<Tensor>(slots::latents.name);
  }
  CancelToken cancel;
  ConfigValues config;
  FreshLatents fresh;
  Frame frame{{.config = &config, .cancel = &cancel}};
};

std::string refusal(auto&& edit) {
  try {
    edit();
  } catch (const InvalidRequest& thrown) {
    return thrown.what();
  }
  return "";
}

TEST(DenoiseLoop, RunsItsBlocksInOrderAtEachStep) {
  auto log = std::make_shared<std::vector<std::string>>();
  BlockList list{denoise()};
  insert_before(list, "denoise.prepare_input", std::make_shared<NoteStep>("before", log));
  insert_after(list, "denoise.step", std::make_shared<NoteStep>("after", log));
  LoopRun run;
  EXPECT_TRUE(run.latents_after(*as_loop(*list.front())).equal(at::full({2, 1, 2, 2}, 0.25)));
  EXPECT_THAT(*log, ElementsAre("before 0/2 at 20", "after 0/2 at 20", "before 1/2 at 10",
                                "after 1/2 at 10"));
}

TEST(DenoiseLoop, LetsOneBlockBeReplacedAloneAndKeepsWhatBlocksMakeForThemselves) {
  BlockList list{denoise()};
  EXPECT_EQ(replace(list, "denoise.step", std::make_shared<Keep>())->name(), "step");
  insert_after(list, "denoise.step", std::make_shared<Count>());
  EXPECT_THAT(block_names(list.front()->inner()),
              ElementsAre("prepare_input", "predict", "step", "count"));
  LoopRun run;
  EXPECT_TRUE(run.latents_after(*as_loop(*list.front())).equal(at::full({2, 1, 2, 2}, 0.25)));
  EXPECT_EQ(run.frame.peek<double>("turns"), nullptr);
  EXPECT_EQ(run.frame.peek<Tensor>(slots::prediction.name), nullptr);
}

TEST(DenoiseLoop, NeedsNoNetwork) {
  class Predict final : public DenoisePart {
   public:
    Input<Tensor> model_input{this, slots::model_input};
    Output<Tensor> prediction{this, slots::prediction};
    Predict() : DenoisePart("predict") {}
    void run(Frame& frame, const StepAt&) const override {
      frame[prediction] = frame[model_input] / 4;
    }
  };
  BlockList list{denoise()};
  replace(list, "denoise.predict", std::make_shared<Predict>());
  LoopRun run;
  EXPECT_TRUE(run.latents_after(*as_loop(*list.front())).equal(at::full({2, 1, 2, 2}, 0.5625)));
}

TEST(DenoiseLoop, RefusesBlocksThatItCannotRun) {
  class EachCondition final : public Block {
   public:
    EachCondition() : Block("each", Stage::denoise_loop, Guidance::per_condition) {}
    void run(Frame&) const override {}
  };
  auto log = std::make_shared<std::vector<std::string>>();
  BlockList list{denoise()};
  auto insert = [&](std::shared_ptr<const Block> block) {
    return refusal([&] { insert_after(list, "denoise.predict", std::move(block)); });
  };
  EXPECT_THAT(insert(std::make_shared<NoteChunk>("chunk", log)), HasSubstr("another loop"));
  EXPECT_THAT(insert(std::make_shared<DenoiseLoop>(DenoiseOptions{.name = "inner"})),
              HasSubstr("this is a loop"));
  EXPECT_THAT(insert(std::make_shared<EachCondition>()), HasSubstr("once for each condition"));
  EXPECT_THAT(refusal([&] { replace(list, "denoise.step", std::make_shared<Halve>()); }),
              HasSubstr("already"));
  EXPECT_THAT(insert(std::make_shared<NoteStep>("step", log)), HasSubstr("already"));
  EXPECT_THAT(refusal([&] { remove(list, "denoise.stp"); }), HasSubstr("did you mean 'step'?"));
  EXPECT_THAT(refusal([&] { remove(list, "denoise.step.more"); }), HasSubstr("runs no block"));
  EXPECT_THAT(block_names(list.front()->inner()), ElementsAre("prepare_input", "predict", "step"));
  remove(list, "denoise.prepare_input");
  remove(list, "denoise.predict");
  EXPECT_THAT(refusal([&] { remove(list, "denoise.step"); }),
              HasSubstr("remove(list, \"denoise\")"));
}

TEST(DenoiseLoop, TellsThePlanWhatItsBlocksLack) {
  auto problem_of = [](const BlockList& list) {
    Plan plan = make_plan(list, {}, {});
    return plan.problems.empty() ? "" : plan.problems.front().text();
  };
  auto log = std::make_shared<std::vector<std::string>>();
  class Seeds final : public Block {
   public:
    Output<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
    Seeds() : Block("seeds", Stage::prepare_latents) {}
    void run(Frame&) const override {}
  };
  BlockList list{std::make_shared<Seeds>(), std::make_shared<FreshLatents>(), denoise()};
  EXPECT_EQ(problem_of(list), "");
  insert_after(list, "denoise", std::make_shared<NoteStep>("alone", log));
  EXPECT_THAT(problem_of(list), HasSubstr("inside a loop only"));
  remove(list, "alone");
  remove(list, "denoise.predict");
  EXPECT_THAT(problem_of(list), AllOf(HasSubstr("denoise"), HasSubstr("'prediction'")));
}

TEST(ChunkLoop, RunsItsListOncePerChunkAndNumbersTheImagesOfEach) {
  auto log = std::make_shared<std::vector<std::string>>();
  BlockList chunk{std::make_shared<NoteChunk>("prepare", log), denoise(halving(log)),
                  std::make_shared<FreshLatents>()};
  ChunkLoop loop("loop", chunks, chunk);
  LoopRun run(2);
  run.latents_after(loop);
  EXPECT_THAT(*log, ElementsAre("prepare 0/2", "image 0", "image 1", "image 0", "image 1",
                                "prepare 1/2", "image 2", "image 3", "image 2", "image 3"));
  EXPECT_FLOAT_EQ(run.frame.peek<Tensor>(slots::latents.name)->flatten()[0].item<float>(),
                  (1.0F / 4 + 1) / 4 + 1);
}

TEST(ChunkLoop, NestsAndCountsTheStepsOfAll) {
  auto log = std::make_shared<std::vector<std::string>>();
  BlockList part{std::make_shared<NoteChunk>("part", log), denoise(halving(log)),
                 std::make_shared<FreshLatents>()};
  auto inner = std::make_shared<ChunkLoop>("parts_of_chunk", parts_of_chunk, part);
  BlockList list{std::make_shared<ChunkLoop>(
      "loop", chunks, BlockList{std::make_shared<NoteChunk>("chunk", log), inner})};
  // A block of a loop in a loop in a loop.
  remove(list, "loop.parts_of_chunk.denoise.step");
  insert_after(list, "loop.parts_of_chunk.denoise.predict", std::make_shared<TakeStep>());
  LoopRun run(2, 2);
  const LoopBlock& loop = *as_loop(*list.front());
  run.frame.enter(&loop, nullptr);
  std::vector<std::string> steps;
  drive_loop(loop, run.frame, [&](const LoopState& state) {
    steps.push_back(fmt::format("{}/{}", state.progress().step, state.progress().steps));
  });
  EXPECT_THAT(steps, ElementsAre("1/8", "2/8", "3/8", "4/8", "5/8", "6/8", "7/8", "8/8"));
  EXPECT_THAT(*log, ElementsAre("chunk 0/2", "part 0/2", "image 0", "image 1", "image 0", "image 1",
                                "part 1/2", "image 2", "image 3", "image 2", "image 3", "chunk 1/2",
                                "part 0/2", "image 4", "image 5", "image 4", "image 5", "part 1/2",
                                "image 6", "image 7", "image 6", "image 7"));
}

TEST(ChunkLoop, EndsWithinAChunkThatIsCancelled) {
  class Cancel final : public ChunkPart {
   public:
    explicit Cancel(CancelToken& token) : ChunkPart("cancel", Stage::decode), token_(token) {}
    void run(Frame&, const ChunkAt& at) const override {
      if (at.k == 1) token_.cancel();
    }

   private:
    CancelToken& token_;
  };
  auto log = std::make_shared<std::vector<std::string>>();
  LoopRun run(3);
  ChunkLoop loop(
      "loop", chunks,
      {denoise(), std::make_shared<Cancel>(run.cancel), std::make_shared<NoteChunk>("after", log)});
  EXPECT_THROW(run.latents_after(loop), Cancelled);
  EXPECT_THAT(*log, ElementsAre("after 0/3"));
}

TEST(ChunkLoop, RefusesListsThatItCannotRun) {
  auto log = std::make_shared<std::vector<std::string>>();
  auto made = [](const BlockList& list) {
    return refusal([&] { ChunkLoop("loop", chunks, list); });
  };
  EXPECT_THAT(made({std::make_shared<FreshLatents>()}), HasSubstr("needs a loop"));
  EXPECT_THAT(made({denoise(), denoise()}), HasSubstr("one loop per chunk"));
  EXPECT_THAT(made({denoise(), std::make_shared<NoteStep>("note", log)}),
              AllOf(HasSubstr("note"), HasSubstr("each step")));
}

TEST(ChunkLoop, TakesThePlaceOfItsBlocksInThePlanAndRunsThoseWhoseTriggersHold) {
  class Seeds final : public Block {
   public:
    Output<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
    Seeds() : Block("seeds", Stage::prepare_latents) {}
    void run(Frame&) const override {}
  };
  class Sometimes final : public Block {
   public:
    explicit Sometimes(Trigger trigger)
        : Block("sometimes", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
    void run(Frame&) const override {}
  };
  auto fresh = std::make_shared<FreshLatents>();
  auto sometimes = std::make_shared<Sometimes>(has("image"));
  auto loop = denoise();
  BlockList list{std::make_shared<Seeds>(), fresh, sometimes, loop,
                 std::make_shared<ChunkLoop>("loop", chunks, BlockList{fresh, sometimes, loop},
                                             has_config("chunks"))};
  EXPECT_EQ(make_plan(list, {}, {}).workflow(), "seeds > fresh_latents > denoise");
  Facts chunked;
  chunked.config = {{"chunks", 2}};
  Plan plan = make_plan(list, chunked, {});
  EXPECT_EQ(plan.workflow(), "seeds > loop");
  EXPECT_TRUE(plan.problems.empty());
  EXPECT_THAT(block_names(plan.blocks.back()->inner()), ElementsAre("fresh_latents", "denoise"));
  chunked.inputs.insert("image");
  EXPECT_THAT(block_names(make_plan(list, chunked, {}).blocks.back()->inner()),
              ElementsAre("fresh_latents", "sometimes", "denoise"));
}

TEST(Windows, ShareTheDenoiseLoopsBlocksWithTheLoopOutsideThem) {
  BlockList list;
  add_denoise_loops(list, {.parts = halving()}, has_config("window_size"));
  replace(list, "denoise.step", std::make_shared<Keep>());
  insert_after(list, "denoise_windows.join_windows", std::make_shared<Count>());
  EXPECT_EQ(list[1]->inner().front(), list[0]);
  EXPECT_THAT(block_names(list[1]->inner()), ElementsAre("denoise", "join_windows", "count"));
  EXPECT_EQ(list[0]->inner()[2]->ports().size(), 3u);
  std::vector<std::string> names;
  for (const NamedBlock& each : all_blocks(list)) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("denoise", "denoise.prepare_input", "denoise.predict",
                                 "denoise.step", "denoise_windows", "denoise_windows.join_windows",
                                 "denoise_windows.count"));
}

TEST(VideoNoise, IsDrawnInTheModelsOrderAndHasOneOrderOfAxes) {
  const std::vector<int64_t> shape{2, 3, 4, 1, 2};  // {n, F, C, h, w}
  const std::vector<uint64_t> seeds{5, 6};
  Noise by_frames(seeds), by_channels(seeds), plain(seeds);
  Tensor frames = video_noise(by_frames, shape, DrawOrder::frames_first);
  Tensor channels = video_noise(by_channels, shape, DrawOrder::channels_first);
  EXPECT_EQ(channels.sizes(), at::IntArrayRef(shape));
  EXPECT_TRUE(channels.is_contiguous());
  EXPECT_TRUE(frames.equal(plain.randn(shape)));
  EXPECT_TRUE(channels.transpose(1, 2).flatten().equal(frames.flatten()));
}

}  // namespace
}  // namespace omnirt::blocks
