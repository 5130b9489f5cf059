#pragma once
#include <functional>
#include <memory>

#include "pipeline/block.hpp"
#include "pipeline/denoiser.hpp"
#include "pipeline/walk.hpp"

namespace omnirt {

// A loop that returns work instead of owning control, so that a loop can nest in another, and
// cancellation and progress have one place (drive_loop). A function over its state: const, and the
// same for every request.
class LoopBlock : public Block {
 public:
  LoopBlock(std::string name, Stage stage, Guidance guidance = Guidance::shared,
            Trigger trigger = {})
      : Block(std::move(name), stage, guidance, std::move(trigger)) {
    set_kind(Kind::loop);
  }
  virtual std::unique_ptr<LoopState> start(Frame& frame) const = 0;
  // Fills `rows` with what is to be predicted next; false when the loop is done.
  virtual bool want(Frame& frame, LoopState& state, std::vector<Row>& rows) const = 0;
  // Takes the predictions of the rows that were wanted last, in their order.
  virtual void accept(Frame& frame, LoopState& state,
                      const std::vector<Tensor>& predictions) const = 0;
  // Passes the loop's results on.
  virtual void finish(Frame& frame, LoopState& state) const = 0;
  // One call of the network for rows of a step.
  virtual Denoiser denoiser(Frame& frame) const = 0;
  void run(Frame& frame) const override;
};

// A block of the denoise stage that comes before a loop and takes part in each of its steps.
class StepBlock : public Block {
 public:
  StepBlock(std::string name, Stage stage, Guidance guidance = Guidance::shared,
            Trigger trigger = {})
      : Block(std::move(name), stage, guidance, std::move(trigger)) {
    set_kind(Kind::step);
  }
  // Once, before the loop starts.
  void run(Frame&) const override {}
  // Before the prediction: adds to what the network is given for a batch, at the call of the
  // network that `at` names: at.step calls were made before it.
  virtual void before_predict(Frame&, const LoopProgress& /*at*/, RowBatch&) const {}
  // After the loop took the predictions of a step; may change the walk. Not called in loops of
  // several walks.
  virtual void after_step(Frame&, Walk&) const {}
};

// A loop whose state is one walk, so that others can run it for several.
class WalkLoop : public LoopBlock {
 public:
  WalkLoop(std::string name, Stage stage, Guidance guidance = Guidance::shared,
           Trigger trigger = {})
      : LoopBlock(std::move(name), stage, guidance, std::move(trigger)) {
    set_kind(Kind::walk_loop);
  }
  virtual Walk begin(Frame& frame) const = 0;
  virtual bool want(Frame& frame, Walk& walk, std::vector<Row>& rows) const = 0;
  virtual void accept(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const = 0;
  virtual void finish(Frame& frame, Walk& walk) const = 0;

  std::unique_ptr<LoopState> start(Frame& frame) const final;
  bool want(Frame& frame, LoopState& state, std::vector<Row>& rows) const final;
  void accept(Frame& frame, LoopState& state, const std::vector<Tensor>& predictions) const final;
  void finish(Frame& frame, LoopState& state) const final;
};

// The block as what its kind says; null for another kind.
const LoopBlock* as_loop(const Block& block);
const StepBlock* as_step(const Block& block);
const WalkLoop* as_walk_loop(const Block& block);

using LoopHook = std::function<void(const LoopState& state)>;
// Runs a loop with the step blocks that come before it; `hook` is called after each step. Returns
// its state at its end.
std::unique_ptr<LoopState> drive_loop(const LoopBlock& loop, Frame& frame, const LoopHook& hook);

}  // namespace omnirt
