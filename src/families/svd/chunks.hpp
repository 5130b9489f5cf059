#pragma once
#include "blocks/denoise.hpp"
#include "families/svd/blocks.hpp"
#include "families/svd/slots.hpp"

namespace omnirt::families {

// Runs the denoise loop once per chunk, each chunk continued from the last frame of the chunk
// before, as an 8-bit image (autoregressive video). The first chunk is prepared by the blocks
// before this one, the last is decoded by the blocks after it; between two chunks this one runs the
// same blocks itself. Draws continue from the same generators.
class DenoiseChunks final : public LoopBlock {
 public:
  Config<int64_t> num_chunks{this, keys::num_chunks};
  InOut<std::vector<io::Image>> first_images{this, video_slots::first_images};
  Output<std::vector<io::Image>> frames{this, video_slots::frames};
  Output<Tensor> decoded_images{this, video_slots::decoded_images};
  Output<Tensor> earlier_frames{this, video_slots::earlier_frames};

  // `inner`: blocks that prepare a chunk from first_images, the loop, and blocks that make frames
  // and images of its latents. Throws InvalidRequest for other lists. Blocks with a trigger may
  // be among them; they are refused in requests of several chunks that switch them on.
  DenoiseChunks(const BlockList& inner, Trigger trigger);
  std::unique_ptr<LoopState> start(Frame& frame) const override;
  bool want(Frame& frame, LoopState& state, std::vector<Row>& rows) const override;
  void accept(Frame& frame, LoopState& state,
              const std::vector<Tensor>& predictions) const override;
  void finish(Frame& frame, LoopState& state) const override;
  Denoiser denoiser(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
  BlockList inner() const override { return all_; }
  std::shared_ptr<const Block> with_inner(const BlockList& inner) const override;

 private:
  void prepare_next_chunk(Frame& frame) const;

  BlockList all_;
  std::shared_ptr<const LoopBlock> inner_;
  BlockList prepare_, decode_;  // those without a trigger, before and after the loop
};

}  // namespace omnirt::families
