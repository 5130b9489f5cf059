#include "pipeline/loop.hpp"

#include "pipeline/frame.hpp"

namespace omnirt {
namespace {

// A walk loop's state is always the one that it began.
Walk& walk_of(LoopState& state) {
  ensure(state.walk() != nullptr, "a loop over one Walk was given another's state");
  return *state.walk();
}

}  // namespace

void LoopBlock::run(Frame& frame) const {
  drive_loop(*this, frame, {});
}

std::unique_ptr<LoopState> WalkLoop::start(Frame& frame) const {
  return std::make_unique<Walk>(begin(frame));
}

bool WalkLoop::want(Frame& frame, LoopState& state, std::vector<Row>& rows) const {
  return want(frame, walk_of(state), rows);
}

void WalkLoop::accept(Frame& frame, LoopState& state,
                      const std::vector<Tensor>& predictions) const {
  accept(frame, walk_of(state), predictions);
}

void WalkLoop::finish(Frame& frame, LoopState& state) const {
  finish(frame, walk_of(state));
}

const LoopBlock* as_loop(const Block& block) {
  bool loop = block.kind() == Block::Kind::loop || block.kind() == Block::Kind::walk_loop;
  return loop ? static_cast<const LoopBlock*>(&block) : nullptr;
}

const StepBlock* as_step(const Block& block) {
  return block.kind() == Block::Kind::step ? static_cast<const StepBlock*>(&block) : nullptr;
}

const WalkLoop* as_walk_loop(const Block& block) {
  return block.kind() == Block::Kind::walk_loop ? static_cast<const WalkLoop*>(&block) : nullptr;
}

std::unique_ptr<LoopState> drive_loop(const LoopBlock& loop, Frame& frame, const LoopHook& hook) {
  std::unique_ptr<LoopState> state = loop.start(frame);
  auto each_step_block = [&](auto&& turn) {
    for (const StepBlock* block : frame.step_blocks()) frame.within(*block, [&] { turn(*block); });
  };
  Denoiser denoiser = loop.denoiser(frame);
  denoiser.before([&](RowBatch& batch) {
    each_step_block(
        [&](const StepBlock& block) { block.before_predict(frame, state->next(), batch); });
  });
  std::vector<Row> rows;
  while (loop.want(frame, *state, rows)) {
    if (frame.cancel()) frame.cancel()->check();
    loop.accept(frame, *state, denoiser.predict(rows));
    if (Walk* walk = state->walk())
      each_step_block([&](const StepBlock& block) { block.after_step(frame, *walk); });
    rows.clear();
    if (hook) hook(*state);
  }
  loop.finish(frame, *state);
  return state;
}

}  // namespace omnirt
