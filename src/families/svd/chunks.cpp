#include "families/svd/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "request/proposal.hpp"

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
    if (auto loop = std::dynamic_pointer_cast<const LoopBlock>(block)) {
      if (inner_) refuse_inner(block->name(), "runs one loop per chunk");
      inner_ = loop;
      adopt_ports(*block);
    } else if (block->trigger().text().empty()) {
      (inner_ ? decode_ : prepare_).push_back(block);
      adopt_ports(*block);
    }
  }
  if (!inner_) refuse_inner("", "needs a loop to run per chunk");
  for (const Port* made : {static_cast<Port*>(&frames), static_cast<Port*>(&pictures)}) {
    if (!makes(decode_, made->name()))
      refuse_inner("", "needs a block after the loop that makes '" + made->name() + "'");
  }
}

std::shared_ptr<const Block> DenoiseChunks::with_inner(const BlockList& inner) const {
  return std::make_shared<DenoiseChunks>(inner, trigger());
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
  size_t before = frame[chunk_state].chunk * frame[first_pictures].size();
  for (Row& row : rows) row.id.image += static_cast<uint32_t>(before);
  return true;
}

void DenoiseChunks::continue_from_last_frame(Frame& frame) const {
  for (const auto& block : decode_) run_within(frame, *block);
  frame[earlier_pictures] = frame[pictures];
  const std::vector<io::Image>& made = frame[frames];
  auto& first = frame[first_pictures];
  size_t frames_so_far = made.size() / first.size();
  for (size_t i = 0; i < first.size(); ++i) first[i] = made[(i + 1) * frames_so_far - 1];
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
  for (const auto& block : all_) {
    if (block->trigger().text().empty() || block == inner_) continue;
    if (std::ranges::find(proposal.plan.blocks, block) == proposal.plan.blocks.end()) continue;
    proposal.error({"config.num_chunks", std::to_string(proposal.config.get(keys::num_chunks)),
                    fmt::format("block {} takes part on a condition ({}), and is not run again "
                                "between chunks",
                                block->name(), block->trigger().text()),
                    "remove num_chunks, or what switches the block on"});
  }
}

void DenoiseChunks::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  inner_->check_loaded(proposal, pipeline);
}

}  // namespace omnirt::families
