#include "families/svd/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt::families {
namespace {

// One block's turn, for each condition where it runs so.
void run_within(Frame& frame, const Block& block) {
  if (block.guidance() == Guidance::per_condition)
    frame.each_condition(block, [&] { block.run(frame); });
  else
    frame.within(block, [&] { block.run(frame); });
}

[[noreturn]] void refuse_inner(const std::string& block, const std::string& reason) {
  throw InvalidRequest(
      {"block", block, "denoise_chunks " + reason, "remove(list, \"denoise_chunks\") first"});
}

// The state of the loop over chunks: a state of the inner loop per chunk, one after the other.
struct ChunkState final : LoopState {
  size_t chunk = 0;
  size_t chunks = 1;
  size_t steps_of_chunk = 0;
  std::unique_ptr<LoopState> inner;

  LoopProgress of_all(LoopProgress of_chunk) const {
    return {of_chunk.step + chunk * steps_of_chunk, chunks * steps_of_chunk, of_chunk.timestep,
            of_chunk.next_timestep};
  }
  LoopProgress next() const override { return of_all(inner->next()); }
  LoopProgress progress() const override { return of_all(inner->progress()); }
  const Tensor& sample() const override { return inner->sample(); }
  Walk* walk() override { return inner->walk(); }
};

ChunkState& chunk_of(LoopState& state) {
  return dynamic_cast<ChunkState&>(state);
}

bool makes(const BlockList& blocks, const std::string& value) {
  return std::ranges::any_of(blocks, [&](const auto& block) {
    return std::ranges::any_of(block->ports(), [&](const PortInfo& port) {
      return port.kind == PortInfo::Kind::output && port.name == value;
    });
  });
}

}  // namespace

DenoiseChunks::DenoiseChunks(const BlockList& inner, Trigger trigger)
    : LoopBlock("denoise_chunks", Stage::denoise_loop, Guidance::takes_over, std::move(trigger)),
      all_(inner) {
  for (const auto& block : all_) {
    if (as_loop(*block)) {
      if (inner_) refuse_inner(block->name(), "runs one loop per chunk");
      inner_ = std::static_pointer_cast<const LoopBlock>(block);
      adopt_ports(*block);
    } else if (block->trigger().text().empty()) {
      (inner_ ? decode_ : prepare_).push_back(block);
      adopt_ports(*block);
    }
  }
  if (!inner_) refuse_inner("", "needs a loop to run per chunk");
  for (const Port* made : {static_cast<Port*>(&frames), static_cast<Port*>(&decoded_images)}) {
    if (!makes(decode_, made->name()))
      refuse_inner("", "needs a block after the loop that makes '" + made->name() + "'");
  }
}

std::shared_ptr<const Block> DenoiseChunks::with_inner(const BlockList& inner) const {
  return std::make_shared<DenoiseChunks>(inner, trigger());
}

std::unique_ptr<LoopState> DenoiseChunks::start(Frame& frame) const {
  auto state = std::make_unique<ChunkState>();
  state->chunks = static_cast<size_t>(frame[num_chunks]);
  state->inner = frame.within(*inner_, [&] { return inner_->start(frame); });
  state->steps_of_chunk = state->inner->next().steps;
  return state;
}

bool DenoiseChunks::want(Frame& frame, LoopState& state, std::vector<Row>& rows) const {
  ChunkState& at = chunk_of(state);
  auto inner_wants = [&] {
    return frame.within(*inner_, [&] { return inner_->want(frame, *at.inner, rows); });
  };
  if (!inner_wants()) {
    if (at.chunk + 1 == at.chunks) return false;
    finish(frame, state);
    prepare_next_chunk(frame);
    ++at.chunk;
    at.inner = frame.within(*inner_, [&] { return inner_->start(frame); });
    if (!inner_wants()) return false;
  }
  // Features that steps share belong to a chunk's video.
  auto before = static_cast<uint32_t>(at.chunk * frame[first_images].size());
  for (Row& row : rows) row.id.image += before;
  return true;
}

// From the last frame of this one.
void DenoiseChunks::prepare_next_chunk(Frame& frame) const {
  for (const auto& block : decode_) run_within(frame, *block);
  frame[earlier_frames] = frame[decoded_images];
  const std::vector<io::Image>& made = frame[frames];
  auto& first = frame[first_images];
  size_t frames_so_far = made.size() / first.size();
  for (size_t i = 0; i < first.size(); ++i) first[i] = made[(i + 1) * frames_so_far - 1];
  for (const auto& block : prepare_) run_within(frame, *block);
}

void DenoiseChunks::accept(Frame& frame, LoopState& state,
                           const std::vector<Tensor>& predictions) const {
  frame.within(*inner_, [&] { inner_->accept(frame, *chunk_of(state).inner, predictions); });
}

void DenoiseChunks::finish(Frame& frame, LoopState& state) const {
  frame.within(*inner_, [&] { inner_->finish(frame, *chunk_of(state).inner); });
}

Denoiser DenoiseChunks::denoiser(Frame& frame) const {
  return frame.within(*inner_, [&] { return inner_->denoiser(frame); });
}

void DenoiseChunks::check(Checks& checks) const {
  Checks of_inner = checks.within(*inner_);
  inner_->check(of_inner);
  for (const auto& block : all_) {
    if (block->trigger().text().empty() || block == inner_ || !checks.takes_part(*block)) continue;
    checks.error({"config.num_chunks", std::to_string(checks[num_chunks]),
                  fmt::format("block {} takes part on a condition ({}), and is not run again "
                              "between chunks",
                              block->name(), block->trigger().text()),
                  "remove num_chunks, or what switches the block on"});
  }
}

void DenoiseChunks::check_loaded(Checks& checks) const {
  Checks of_inner = checks.within(*inner_);
  inner_->check_loaded(of_inner);
}

}  // namespace omnirt::families
