#pragma once
#include <functional>

#include "pipeline/block.hpp"
#include "pipeline/denoiser.hpp"

namespace omnirt {

struct LoopProgress {
  size_t step = 0;   // done
  size_t steps = 0;  // in all
  double timestep = 0;
};

// A loop that hands out work instead of owning control, so that a loop can nest in another, and
// cancellation and progress have one place (drive_loop).
class LoopBlock : public Block {
 public:
  using Block::Block;
  virtual void start(Frame& frame) const = 0;
  // Fills `rows` with what is to be predicted next; false when the loop is done.
  virtual bool want(Frame& frame, std::vector<Row>& rows) const = 0;
  // Takes the predictions of the rows that were wanted last, in their order.
  virtual void accept(Frame& frame, const std::vector<Tensor>& predictions) const = 0;
  virtual Denoiser denoiser(Frame& frame) const = 0;
  // Where the loop stands: the calls made, and the timestep of the next one; of the last one when
  // it is done.
  virtual LoopProgress next(Frame& frame) const = 0;
  virtual LoopProgress progress(Frame& frame) const = 0;
  // The sample as it stands, {n, ...}.
  virtual const Tensor& sample(Frame& frame) const = 0;
  // The sample without its noise as the last step predicted it; undefined where the maths gives
  // none.
  virtual Tensor predicted(Frame&) const { return {}; }
  void run(Frame& frame) const override;
};

// A block of the denoise stage that stands before a loop and takes part in each of its predictions.
class StepBlock : public Block {
 public:
  using Block::Block;
  // Once, before the loop starts.
  void run(Frame&) const override {}
  // Adds to what the network is given for a batch, at the call of the network that `at` tells:
  // at.step calls were made before it.
  virtual void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const = 0;
};

using LoopHook = std::function<void(const LoopProgress&, const Tensor& sample)>;
void drive_loop(const LoopBlock& loop, Frame& frame, const LoopHook& hook);

}  // namespace omnirt
