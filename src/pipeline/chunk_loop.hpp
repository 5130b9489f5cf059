#pragma once
#include "pipeline/loop.hpp"
#include "pipeline/loop_part.hpp"

namespace omnirt {

// Runs a list of blocks once per chunk: blocks that prepare it, a loop that denoises it (which may
// be a loop over chunks itself), and blocks that use what it made. Their values are the frame's, so
// that a chunk finds there what the one before left.
class ChunkLoop : public LoopBlock {
 public:
  Config<int64_t> count;

  // Throws InvalidRequest for a list that does not have one loop.
  ChunkLoop(std::string name, const Key<int64_t>& count, const BlockList& list,
            Trigger trigger = {});
  std::unique_ptr<LoopState> start(Frame& frame) const override;
  bool want(Frame& frame, LoopState& state, std::vector<Row>& rows) const override;
  void accept(Frame& frame, LoopState& state,
              const std::vector<Tensor>& predictions) const override;
  void finish(Frame& frame, LoopState& state) const override;
  Denoiser denoiser(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
  BlockList inner() const override { return list_; }
  std::shared_ptr<const Block> with_inner(const BlockList& inner) const override;

 private:
  struct State;
  static State& state_of(LoopState& state);
  void begin_chunk(Frame& frame, State& at) const;
  void end_chunk(Frame& frame, State& at) const;

  BlockList list_;
  BlockList before_, after_;  // the loop
  const LoopBlock* loop_ = nullptr;
};

}  // namespace omnirt
