#include "pipeline/loop.hpp"

#include "pipeline/frame.hpp"

namespace omnirt {

void LoopBlock::run(Frame& frame) const {
  drive_loop(*this, frame, {});
}

void drive_loop(const LoopBlock& loop, Frame& frame, const LoopHook& hook) {
  loop.start(frame);
  Denoiser denoiser = loop.denoiser(frame);
  denoiser.before([&](RowBatch& batch) {
    LoopProgress at = loop.next(frame);
    for (const StepBlock* block : frame.step_blocks())
      frame.within(*block, [&] { block->before_predict(frame, at, batch); });
  });
  std::vector<Row> rows;
  while (loop.want(frame, rows)) {
    if (frame.cancel()) frame.cancel()->check();
    loop.accept(frame, denoiser.predict(rows));
    rows.clear();
    if (hook) hook(loop.progress(frame), loop.sample(frame));
  }
}

}  // namespace omnirt
