#include "families/svd/chunks.hpp"

#include <fmt/format.h>

#include "pipeline/proposal.hpp"

namespace omnirt::families {
namespace {

// One block's turn, for each condition where it runs so.
void run_within(Frame& frame, const Block& block) {
  if (block.guidance() == Guidance::per_condition)
    frame.each_condition(block, [&] { block.run(frame); });
  else
    frame.within(block, [&] { block.run(frame); });
}

}  // namespace

DenoiseChunks::DenoiseChunks(std::shared_ptr<const LoopBlock> inner,
                             std::shared_ptr<const DecodeFrames> decode, BlockList prepare,
                             Trigger trigger)
    : LoopBlock("denoise_chunks", Stage::denoise_loop, Guidance::takes_over, std::move(trigger)),
      inner_(std::move(inner)),
      decode_(std::move(decode)),
      prepare_(std::move(prepare)) {
  adopt_ports(*inner_);
  adopt_ports(*decode_);
  for (const auto& block : prepare_) adopt_ports(*block);
}

void DenoiseChunks::start(Frame& frame) const {
  frame[chunk_state] = {.chunks = static_cast<size_t>(frame[num_chunks])};
  frame.within(*inner_, [&] { inner_->start(frame); });
  frame[chunk_state].steps_of_chunk =
      frame.within(*inner_, [&] { return inner_->next(frame).steps; });
}

bool DenoiseChunks::want(Frame& frame, std::vector<Row>& rows) const {
  auto inner_wants = [&] {
    return frame.within(*inner_, [&] { return inner_->want(frame, rows); });
  };
  if (!inner_wants()) {
    if (frame[chunk_state].chunk + 1 == frame[chunk_state].chunks) return false;
    continue_from_last_frame(frame);
    if (!inner_wants()) return false;
  }
  // What is kept between steps belongs to a chunk's video.
  for (Row& row : rows) row.picture += frame[chunk_state].chunk * frame[first_pictures].size();
  return true;
}

void DenoiseChunks::continue_from_last_frame(Frame& frame) const {
  frame.within(*decode_, [&] { decode_->run(frame); });
  auto made = frame.within(*decode_, [&] {
    return std::pair{frame[decode_->pictures], frame[decode_->frames]};
  });
  frame[earlier_pictures] = made.first;
  auto& pictures = frame[first_pictures];
  size_t frames_so_far = made.second.size() / pictures.size();
  for (size_t i = 0; i < pictures.size(); ++i)
    pictures[i] = made.second[(i + 1) * frames_so_far - 1];
  for (const auto& block : prepare_) run_within(frame, *block);
  ++frame[chunk_state].chunk;
  frame.within(*inner_, [&] { inner_->start(frame); });
}

void DenoiseChunks::accept(Frame& frame, const std::vector<Tensor>& predictions) const {
  frame.within(*inner_, [&] { inner_->accept(frame, predictions); });
}

Denoiser DenoiseChunks::denoiser(Frame& frame) const {
  return frame.within(*inner_, [&] { return inner_->denoiser(frame); });
}

LoopProgress DenoiseChunks::of_all(Frame& frame, LoopProgress of_chunk) const {
  const ChunkState& at = frame[chunk_state];
  of_chunk.step += at.chunk * at.steps_of_chunk;
  of_chunk.steps = at.chunks * at.steps_of_chunk;
  return of_chunk;
}

LoopProgress DenoiseChunks::next(Frame& frame) const {
  return of_all(frame, frame.within(*inner_, [&] { return inner_->next(frame); }));
}

LoopProgress DenoiseChunks::progress(Frame& frame) const {
  return of_all(frame, frame.within(*inner_, [&] { return inner_->progress(frame); }));
}

const Tensor& DenoiseChunks::sample(Frame& frame) const {
  const Tensor* sample = nullptr;
  frame.within(*inner_, [&] { sample = &inner_->sample(frame); });
  return *sample;
}

void DenoiseChunks::check(Proposal& proposal) const {
  inner_->check(proposal);
}

void DenoiseChunks::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  inner_->check_loaded(proposal, pipeline);
}

}  // namespace omnirt::families
