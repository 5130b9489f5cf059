#include "pipeline/loop_part.hpp"

#include "pipeline/checks.hpp"
#include "pipeline/loop.hpp"

namespace omnirt {
namespace {

[[noreturn]] void outside_a_loop(const Block& block) {
  throw InternalError("block '" + block.name() + "' runs inside a loop only");
}

}  // namespace

DenoisePart::DenoisePart(std::string name, Trigger trigger)
    : Block(std::move(name), Stage::denoise_loop, Guidance::shared, std::move(trigger)) {
  set_kind(Kind::denoise_part);
}

void DenoisePart::run(Frame&) const {
  outside_a_loop(*this);
}

PredictPart::PredictPart(std::string name, Trigger trigger)
    : Block(std::move(name), Stage::denoise_loop, Guidance::takes_over, std::move(trigger)) {
  set_kind(Kind::predict_part);
}

void PredictPart::run(Frame&) const {
  outside_a_loop(*this);
}

ChunkPart::ChunkPart(std::string name, Stage stage, Guidance guidance, Trigger trigger)
    : Block(std::move(name), stage, guidance, std::move(trigger)) {
  set_kind(Kind::chunk_part);
}

void ChunkPart::run(Frame&) const {
  outside_a_loop(*this);
}

const DenoisePart* as_denoise_part(const Block& block) {
  bool part = block.kind() == Block::Kind::denoise_part;
  return part ? static_cast<const DenoisePart*>(&block) : nullptr;
}

const PredictPart* as_predict_part(const Block& block) {
  bool part = block.kind() == Block::Kind::predict_part;
  return part ? static_cast<const PredictPart*>(&block) : nullptr;
}

const ChunkPart* as_chunk_part(const Block& block) {
  bool part = block.kind() == Block::Kind::chunk_part;
  return part ? static_cast<const ChunkPart*>(&block) : nullptr;
}

bool is_loop_part(const Block& block) {
  return as_denoise_part(block) || as_predict_part(block) || as_chunk_part(block);
}

void run_part(Frame& frame, const Block& block, const StepAt& at, const LocalValues& locals) {
  frame.within(
      block,
      [&] {
        if (const DenoisePart* part = as_denoise_part(block))
          part->run(frame, at);
        else
          block.run(frame);
      },
      &locals);
}

void run_part(Frame& frame, const Block& block, const ChunkAt& at) {
  if (frame.cancel()) frame.cancel()->check();
  auto once = [&] {
    if (const ChunkPart* part = as_chunk_part(block))
      part->run(frame, at);
    else
      block.run(frame);
  };
  frame.run_part(block, [&] {
    if (block.guidance() == Guidance::per_condition)
      frame.each_condition(block, once);
    else
      frame.within(block, once);
  });
  if (const StepBlock* step = as_step(block)) frame.add_step_block(step);
}

void check_parts(const BlockList& parts, Checks& checks) {
  for (const auto& part : parts) {
    Checks of_part = checks.within(*part);
    part->check(of_part);
  }
}

void check_loaded_parts(const BlockList& parts, Checks& checks) {
  for (const auto& part : parts) {
    Checks of_part = checks.within(*part);
    part->check_loaded(of_part);
  }
}

void tell_sizes_of_parts(const BlockList& parts, const Checks& checks, SymbolSizes& sizes) {
  for (const auto& part : parts) part->tell_sizes(checks.within(*part), sizes);
}

}  // namespace omnirt
