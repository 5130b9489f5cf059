#pragma once
#include <string>
#include <vector>

#include "pipeline/block.hpp"
#include "pipeline/denoiser.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/walk.hpp"

// Blocks that loops run. A loop is made of a list of blocks (Block::inner), each of which can be
// replaced, inserted and removed by name (pipeline/block_list.hpp).
namespace omnirt {

// Where a denoise loop is.
struct StepAt {
  size_t i = 0;  // steps before this one, in this run
  double t = 0;  // the timestep that the network receives
  size_t steps = 0;
};

// Where a loop over chunks is.
struct ChunkAt {
  size_t k = 0;  // chunks before this one
  size_t chunks = 0;
};

// A block of a denoise loop: runs once per step, and in a loop over windows once per window and
// step. Values that it makes belong to the walk and end with it, so that they reach the next step
// and no block after the loop; `latents`, `schedule` and `predicted_original` are the walk's.
class DenoisePart : public Block {
 public:
  explicit DenoisePart(std::string name, Trigger trigger = {});
  virtual void run(Frame& frame, const StepAt& at) const = 0;
  void run(Frame& frame) const final;
};

// The block of a denoise loop that asks the network. Its rows are predicted together with those of
// the other walks of the step, so it returns between asking and taking.
class PredictPart : public Block {
 public:
  explicit PredictPart(std::string name, Trigger trigger = {});
  // Once per walk, before its first step.
  virtual void begin(Frame& frame, Walk& walk) const = 0;
  virtual void ask(Frame& frame, Walk& walk, std::vector<Row>& rows) const = 0;
  virtual void take(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const = 0;
  // One call of the network for rows of a step.
  virtual Denoiser denoiser(Frame& frame) const = 0;
  void run(Frame& frame) const final;
};

// A block of a loop over chunks that receives the number of its chunk. Its values are the frame's.
class ChunkPart : public Block {
 public:
  ChunkPart(std::string name, Stage stage, Guidance guidance = Guidance::shared,
            Trigger trigger = {});
  virtual void run(Frame& frame, const ChunkAt& at) const = 0;
  void run(Frame& frame) const final;
};

// The block as what its kind says; null for another kind.
const DenoisePart* as_denoise_part(const Block& block);
const PredictPart* as_predict_part(const Block& block);
const ChunkPart* as_chunk_part(const Block& block);
// Whether the block runs inside a loop only.
bool is_loop_part(const Block& block);

// A block's turn at a step.
void run_part(Frame& frame, const Block& block, const StepAt& at, const LocalValues& locals);
// A block's turn in a chunk, for each condition where it runs so; what takes part in the steps of a
// later loop is added to them.
void run_part(Frame& frame, const Block& block, const ChunkAt& at);

// The checks of the blocks that a loop runs, each with its own view of the request.
void check_parts(const BlockList& parts, Checks& checks);
void check_loaded_parts(const BlockList& parts, Checks& checks);
void tell_sizes_of_parts(const BlockList& parts, const Checks& checks, SymbolSizes& sizes);

}  // namespace omnirt
