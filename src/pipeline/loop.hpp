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

// A loop that hands out work instead of owning control: several requests can share a step, a loop
// can nest in another, and cancellation, progress and deadline have one place (drive_loop).
class LoopBlock : public Block {
 public:
  using Block::Block;
  virtual void start(Frame& frame) const = 0;
  // Fills `rows` with what is to be predicted next; false when the loop is done.
  virtual bool want(Frame& frame, std::vector<Row>& rows) const = 0;
  // Takes the predictions of the rows that were wanted last, in their order.
  virtual void accept(Frame& frame, const std::vector<Tensor>& predictions) const = 0;
  virtual Denoiser denoiser(Frame& frame) const = 0;
  virtual LoopProgress progress(Frame& frame) const = 0;
  // The sample as it stands, {n, ...}.
  virtual const Tensor& sample(Frame& frame) const = 0;
  void run(Frame& frame) const override;
};

using LoopHook = std::function<void(const LoopProgress&, const Tensor& sample)>;
void drive_loop(const LoopBlock& loop, Frame& frame, const LoopHook& hook);

}  // namespace omnirt
