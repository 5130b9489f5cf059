#include "engine/executor.hpp"

#include <ATen/ops/quantile.h>
#include <ATen/ops/std.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cancel_scope.hpp"
#include "base/clock.hpp"
#include "engine/finite_checks.hpp"
#include "engine/preview.hpp"
#include "io/lost_pages.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/provenance.hpp"
#include "request/validate.hpp"
#include "tensor/finite.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

double& stage_ms(StageTimings& timings, Stage stage) {
  switch (stage) {
    case Stage::prepare_conditions:
      return timings.prepare_conditions_ms;
    case Stage::prepare_latents:
      return timings.prepare_latents_ms;
    case Stage::denoise_loop:
      return timings.denoise_loop_ms;
    case Stage::decode:
      return timings.decode_ms;
    case Stage::export_artifacts:
      return timings.export_ms;
  }
  return timings.export_ms;
}

LatentStats statistics(const Tensor& latents) {
  Tensor flat = latents.flatten().to(at::kFloat);
  auto one = [](const Tensor& value) { return value.item<double>(); };
  // quantile takes at most 16 million values; an even sample of a larger tensor serves as well.
  constexpr int64_t limit = 1 << 22;
  Tensor sampled =
      flat.numel() > limit ? flat.slice(0, 0, flat.numel(), flat.numel() / limit + 1) : flat;
  return {one(flat.mean()), one(at::std(flat, /*unbiased=*/false)), one(at::quantile(sampled, 0.5)),
          one(at::quantile(sampled, 0.95))};
}

// Read once all blocks have run.
constexpr const char* artifacts_value = "artifacts";

io::Image pixels_of(const ImageInput& image) {
  return image.given ? *image.given : io::read_image(image.path);
}

class Execution {
 public:
  // `noise`: generators in place of the seed's; null: the seed's.
  Execution(const Proposal& proposal, LoadedPipeline& pipeline, LevelRuns& levels,
            const RunHooks& hooks, RunReport& report, std::shared_ptr<Noise> noise)
      : proposal_(proposal),
        pipeline_(pipeline),
        levels_(levels),
        hooks_(hooks),
        report_(report),
        release_(proposal.config.get(keys::release_components)),
        finite_(proposal, pipeline, report),
        frame_({.config = &proposal.config,
                .guider = proposal.guider.get(),
                .scheduler = &proposal.scheduler,
                .pipeline = &pipeline,
                .levels = &levels,
                .cancel = hooks.cancel,
                .run_id = report.run_id,
                .model = proposal.spec->id,
                .record = [&] { return provenance_of(proposal_); },
                .noise = std::move(noise),
                .writes_files = proposal.writes_files,
                .on_artifact =
                    [&](const Artifact& artifact) {
                      tell([&] {
                        if (hooks_.on_artifact) hooks_.on_artifact(artifact);
                      });
                    },
                .is_read = [this](const std::string& name) { return is_read(name); },
                .check_finite =
                    [this](const Block& block, const Tensor& made, const std::string& what) {
                      if (!rehearses_) finite_.tensor(block, frame_, made, what);
                    },
                .around_part =
                    [&](const Block& part, const std::function<void()>& turn) {
                      rehearses_ ? turn() : run_part(part, turn);
                    }}) {}

  void run() {
    c10::InferenceMode no_autograd;
    CancelScope works_for(hooks_.cancel);
    put_inputs();
    restore();
    for (size_t i = proposal_.part.first; i < proposal_.part.end; ++i) run_block(i);
    files_.check();
    if (proposal_.part.end < proposal_.plan.blocks.size()) save();
    if (const auto* made = frame_.peek<std::vector<ArtifactReport>>(artifacts_value))
      report_.artifacts = *made;
  }

  void go_through(const std::function<void(size_t, const std::function<void()>&)>& around) {
    c10::InferenceMode no_autograd;
    CancelScope works_for(hooks_.cancel);
    rehearses_ = true;
    put_inputs();
    restore();
    for (size_t i = proposal_.part.first; i < proposal_.part.end; ++i) {
      if (proposal_.plan.blocks[i]->stage() == Stage::export_artifacts) continue;
      if (hooks_.cancel) hooks_.cancel->check();
      around(i, [&] { turn(i, [&](const LoopBlock& loop) { drive_loop(loop, frame_, {}); }); });
      drop_values(i);
    }
  }

 private:
  void put_inputs() {
    for (const auto& [name, values] : proposal_.texts) frame_.put(name, values);
    // What a run that continues still needs of its images is in its state.
    if (!proposal_.resumed) put_images();
    for (const ExtraCondition& extra : proposal_.extra_conditions) {
      for (const auto& [name, values] : extra.texts) frame_.put(name, values);
    }
    // What a condition names in place of an input, and the request omits, is empty.
    for (const Condition& condition : proposal_.guider->conditions()) {
      for (const auto& [input, stand_in] : condition.renames) {
        if (!proposal_.texts.contains(stand_in)) frame_.put(stand_in, std::vector<std::string>{});
      }
    }
  }

  void put_images() {
    for (const auto& [name, image] : proposal_.images) frame_.put(name, pixels_of(image));
    for (const auto& [name, file] : proposal_.latents)
      frame_.put(name, file.given ? *file.given : read_latents(file.path));
    for (const auto& [name, file] : proposal_.embeds)
      frame_.put(name, file.given ? *file.given : read_embeds(file.path));
    for (const auto& [name, list] : proposal_.image_lists) {
      std::vector<io::Image> read;
      for (const ImageInput& image : list) read.push_back(pixels_of(image));
      frame_.put(name, std::move(read));
    }
  }

  // What an earlier part of the run left.
  void restore() {
    for (const auto& [condition, values] : proposal_.restored) {
      for (const auto& [name, value] : values) frame_.restore(condition, name, value);
    }
    for (size_t i = 0; i < proposal_.part.first; ++i) {
      if (const StepBlock* step = as_step(*proposal_.plan.blocks[i])) frame_.add_step_block(step);
    }
  }

  void save() {
    SavedRun run = begin_saved_run(proposal_);
    for (const auto& [condition, values] : frame_.values()) {
      for (const auto& [name, value] : values) {
        auto needed = proposal_.across.find(name);
        if (needed == proposal_.across.end()) continue;
        const PortCodec& codec = *needed->second->codec;
        run.values.push_back({condition, name, codec.type, codec.save(value)});
      }
    }
    std::string file = std::filesystem::absolute(proposal_.config.get(keys::state));
    write_saved_run(file, run);
    report_.state = file;
  }

  void run_block(size_t index) {
    const Block& block = *proposal_.plan.blocks[index];
    if (hooks_.cancel) hooks_.cancel->check();
    files_.check();
    tell([&] {
      if (hooks_.progress) hooks_.progress({block.stage(), {}});
    });
    levels_.synchronize();
    double start = now_ms();
    turn(index, [&](const LoopBlock& loop) { run_loop(loop); });
    levels_.synchronize();
    finite_.block(block, frame_);
    stage_ms(report_.timings, block.stage()) += now_ms() - start - std::exchange(in_parts_ms_, 0);
    tell([&] {
      if (hooks_.on_block) hooks_.on_block(block.name(), frame_);
    });
    release_unused(index);
    drop_values(index);
  }

  bool is_read(const std::string& name) const {
    return hooks_.reads.contains(name) || proposal_.plan.reads_after(block_, name);
  }

  // What no later block reads: frames of a video are larger than all else.
  void drop_values(size_t index) {
    for (const auto& [name, last] : proposal_.plan.last_read)
      if (last == index && name != artifacts_value) frame_.drop(name);
  }

  // A block that a loop runs: its time is its own stage's, and no step's.
  void run_part(const Block& part, const std::function<void()>& turn) {
    files_.check();
    levels_.synchronize();
    const double start = now_ms();
    turn();
    levels_.synchronize();
    finite_.block(part, frame_);
    const double took = now_ms() - start;
    stage_ms(report_.timings, part.stage()) += took;
    in_parts_ms_ += took;
    step_begun_ += took;
    if (report_.denoise_steps_ms.empty()) report_.first_step_ms = step_begun_ - report_.begun_ms;
    tell([&] {
      if (hooks_.on_block) hooks_.on_block(part.name(), frame_);
    });
  }

  template <class Loop>
  void turn(size_t index, Loop&& run_loop) {
    const Block& block = *proposal_.plan.blocks[index];
    block_ = index;
    if (block.guidance() == Guidance::per_condition) {
      frame_.each_condition(block, [&] { block.run(frame_); });
      return run_under_extra_conditions(block, index);
    }
    frame_.enter(&block, nullptr);
    if (const LoopBlock* loop = as_loop(block))
      run_loop(*loop);
    else
      block.run(frame_);
    if (const StepBlock* step = as_step(block)) frame_.add_step_block(step);
  }

  void run_under_extra_conditions(const Block& block, size_t index) {
    for (const ExtraCondition& extra : proposal_.extra_conditions) {
      auto asker = std::ranges::find(proposal_.plan.blocks, extra.block,
                                     [](const auto& each) { return each->name(); });
      if (asker - proposal_.plan.blocks.begin() <= static_cast<std::ptrdiff_t>(index)) continue;
      frame_.enter(&block, &extra.condition);
      block.run(frame_);
    }
  }

  void run_loop(const LoopBlock& loop) {
    step_begun_ = now_ms();
    if (!report_.first_step_ms) report_.first_step_ms = step_begun_ - report_.begun_ms;
    Previews previews(proposal_, pipeline_, levels_, hooks_, report_);
    auto ended = drive_loop(loop, frame_, [&](const LoopState& state) {
      levels_.synchronize();
      files_.check();
      finite_.step(loop, frame_, state.progress(), state.sample());
      report_.denoise_steps_ms.push_back(now_ms() - step_begun_);
      report_.denoise_steps_runs.push_back(static_cast<int64_t>(levels_.runs_together()));
      Tensor predicted = state.predicted();
      previews.step(state.progress(), predicted.defined() ? predicted : state.sample());
      tell([&] {
        if (hooks_.progress) hooks_.progress({loop.stage(), state.progress()});
        if (hooks_.on_step) hooks_.on_step(state.progress(), state.sample());
      });
      step_begun_ = now_ms();
    });
    report_.latent_stats = statistics(ended->sample());
    levels_.end_loop(report_);
  }

  void release_unused(size_t index) {
    for (const auto& [name, last] : proposal_.plan.last_use) {
      LoadedComponent* component = last == index ? pipeline_.find(name) : nullptr;
      if (!component) continue;
      // Counted before they are released.
      report_.memory.weights_converted_bytes += component->converted_bytes();
      report_.memory.weights_packed_bytes += component->packed_bytes();
      if (!release_ && !levels_.leaves_memory(name)) continue;
      levels_.release(name);
      component->release();
      return_freed_memory(levels_.plans_memory() ? 0 : kept_of_freed_memory);
    }
  }

  const Proposal& proposal_;
  LoadedPipeline& pipeline_;
  LevelRuns& levels_;
  const RunHooks& hooks_;
  RunReport& report_;
  bool release_;
  bool rehearses_ = false;
  size_t block_ = 0;  // that runs
  double step_begun_ = 0;
  double in_parts_ms_ = 0;  // of blocks that the running loop runs
  io::LostPages files_;
  FiniteChecks finite_;
  Frame frame_;
};

}  // namespace

void execute(const Proposal& proposal, LoadedPipeline& pipeline, LevelRuns& levels,
             const RunHooks& hooks, RunReport& report) {
  Execution(proposal, pipeline, levels, hooks, report, proposal.noise).run();
}

void go_through(
    const Proposal& proposal, LoadedPipeline& pipeline, LevelRuns& levels,
    const CancelToken* cancel,
    const std::function<void(size_t block, const std::function<void()>& turn)>& around) {
  RunReport unused;
  RunHooks hooks;
  hooks.cancel = cancel;
  // What a rehearsal draws is drawn again by the run.
  auto noise = proposal.noise ? std::make_shared<Noise>(proposal.noise->copy()) : nullptr;
  Execution(proposal, pipeline, levels, hooks, unused, noise).go_through(around);
}

}  // namespace omnirt
