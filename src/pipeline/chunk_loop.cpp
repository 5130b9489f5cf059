#include "pipeline/chunk_loop.hpp"

#include <fmt/format.h>

namespace omnirt {

// A state of the inner loop per chunk, one after the other.
struct ChunkLoop::State final : LoopState {
  ChunkAt at;
  size_t steps_of_chunk = 0;
  std::unique_ptr<LoopState> inner;

  LoopProgress of_all(LoopProgress of_chunk) const {
    return {of_chunk.step + at.k * steps_of_chunk, at.chunks * steps_of_chunk, of_chunk.timestep,
            of_chunk.next_timestep};
  }
  LoopProgress next() const override { return of_all(inner->next()); }
  LoopProgress progress() const override { return of_all(inner->progress()); }
  const Tensor& sample() const override { return inner->sample(); }
  Tensor predicted() const override { return inner->predicted(); }
  size_t images() const override { return at.chunks * inner->images(); }
  Walk* walk() override { return inner->walk(); }
};

ChunkLoop::State& ChunkLoop::state_of(LoopState& state) {
  return dynamic_cast<State&>(state);
}

ChunkLoop::ChunkLoop(std::string name, const Key<int64_t>& count_key, const BlockList& list,
                     Trigger trigger)
    : LoopBlock(std::move(name), Stage::denoise_loop, Guidance::takes_over, std::move(trigger)),
      count(this, count_key),
      list_(list) {
  auto refuse = [&](const std::string& block, const std::string& why) {
    throw InvalidRequest({"block", block, fmt::format("{} {}", this->name(), why),
                          fmt::format("remove(list, \"{}\") first", this->name())});
  };
  for (const auto& block : list_) {
    if (as_denoise_part(*block) || as_predict_part(*block))
      refuse(block->name(), "runs it once per chunk, and it runs at each step of a denoise loop");
    if (loop_ && as_loop(*block)) refuse(block->name(), "runs one loop per chunk");
    if (as_loop(*block))
      loop_ = as_loop(*block);
    else
      (loop_ ? after_ : before_).push_back(block);
  }
  if (!loop_) refuse("", "needs a loop to run per chunk");
  adopt_list(list_, Made::stays);
}

std::shared_ptr<const Block> ChunkLoop::with_inner(const BlockList& inner) const {
  return std::make_shared<ChunkLoop>(name(), count.key, inner, trigger());
}

void ChunkLoop::begin_chunk(Frame& frame, State& at) const {
  for (const auto& block : before_) run_part(frame, *block, at.at);
  at.inner = frame.within(*loop_, [&] { return loop_->start(frame); });
}

void ChunkLoop::end_chunk(Frame& frame, State& at) const {
  frame.within(*loop_, [&] { loop_->finish(frame, *at.inner); });
  for (const auto& block : after_) run_part(frame, *block, at.at);
}

std::unique_ptr<LoopState> ChunkLoop::start(Frame& frame) const {
  auto state = std::make_unique<State>();
  state->at.chunks = static_cast<size_t>(frame[count]);
  begin_chunk(frame, *state);
  state->steps_of_chunk = state->inner->next().steps;
  return state;
}

bool ChunkLoop::want(Frame& frame, LoopState& state, std::vector<Row>& rows) const {
  State& at = state_of(state);
  while (!frame.within(*loop_, [&] { return loop_->want(frame, *at.inner, rows); })) {
    end_chunk(frame, at);
    if (at.at.k + 1 == at.at.chunks) return false;
    ++at.at.k;
    begin_chunk(frame, at);
  }
  // Features that steps share belong to a chunk's images.
  auto before = static_cast<uint32_t>(at.at.k * at.inner->images());
  for (Row& row : rows) row.id.image += before;
  return true;
}

void ChunkLoop::accept(Frame& frame, LoopState& state,
                       const std::vector<Tensor>& predictions) const {
  frame.within(*loop_, [&] { loop_->accept(frame, *state_of(state).inner, predictions); });
}

// The last chunk ended when no further one was wanted.
void ChunkLoop::finish(Frame& /*frame*/, LoopState& /*state*/) const {}

Denoiser ChunkLoop::denoiser(Frame& frame) const {
  return frame.within(*loop_, [&] { return loop_->denoiser(frame); });
}

void ChunkLoop::check(Checks& checks) const {
  check_parts(list_, checks);
}

void ChunkLoop::check_loaded(Checks& checks) const {
  check_loaded_parts(list_, checks);
}

void ChunkLoop::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  tell_sizes_of_parts(list_, checks, sizes);
}

}  // namespace omnirt
