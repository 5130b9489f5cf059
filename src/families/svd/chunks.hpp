#pragma once
#include "families/svd/blocks.hpp"
#include "pipeline/blocks/denoise.hpp"

namespace omnirt::families {

// Where the loop over chunks stands.
struct ChunkState {
  size_t chunk = 0;
  size_t chunks = 1;
  size_t steps_of_chunk = 0;
};

}  // namespace omnirt::families

namespace omnirt {

template <>
struct ValueCodec<families::ChunkState> {
  static constexpr const char* type = "chunk state";
  static SavedValue save(const families::ChunkState& value) {
    return {
        Json{{"chunk", value.chunk}, {"chunks", value.chunks}, {"steps", value.steps_of_chunk}}};
  }
  static families::ChunkState load(const SavedValue& saved, const Catalogue&) {
    return {saved.get<size_t>("chunk"), saved.get<size_t>("chunks"), saved.get<size_t>("steps")};
  }
};

}  // namespace omnirt

namespace omnirt::families {

// The denoise loop again and again, each time continued from the last frame of the chunk before, as
// an 8-bit picture (autoregressive video). The first chunk is prepared by the blocks before this
// one, the last is decoded by the block behind it; between two chunks this one runs the same blocks
// itself. Draws go on from the same generators.
class DenoiseChunks final : public LoopBlock {
 public:
  Config<int64_t> num_chunks{this, keys::num_chunks};
  InOut<std::vector<io::Image>> first_pictures{this, "first_pictures",
                                               "what each video begins with"};
  Output<Tensor> earlier_pictures{
      this, "earlier_pictures", "frames of the chunks before", {"n", "F'", "3", "H", "W"}};
  Output<ChunkState> chunk_state{this, "chunk_state", "the loop's state"};

  // `between`: what makes the pictures of a chunk, and prepares the next one from its last.
  DenoiseChunks(std::shared_ptr<const LoopBlock> inner, std::shared_ptr<const DecodeFrames> decode,
                BlockList prepare, Trigger trigger);
  void start(Frame& frame) const override;
  bool want(Frame& frame, std::vector<Row>& rows) const override;
  void accept(Frame& frame, const std::vector<Tensor>& predictions) const override;
  Denoiser denoiser(Frame& frame) const override;
  LoopProgress next(Frame& frame) const override;
  LoopProgress progress(Frame& frame) const override;
  const Tensor& sample(Frame& frame) const override;
  void check(Proposal& proposal) const override;
  void check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const override;

 private:
  void continue_from_last_frame(Frame& frame) const;
  LoopProgress of_all(Frame& frame, LoopProgress of_chunk) const;

  std::shared_ptr<const LoopBlock> inner_;
  std::shared_ptr<const DecodeFrames> decode_;
  BlockList prepare_;
};

}  // namespace omnirt::families
