#include "blocks/denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>

#include "pipeline/checks.hpp"

namespace omnirt::blocks {
namespace {

DenoiseOptions with_parts(DenoiseOptions options) {
  if (options.parts.empty()) {
    options.parts = {std::make_shared<PrepareInput>(), std::make_shared<Predict>(options),
                     std::make_shared<TakeStep>()};
  }
  return options;
}

[[noreturn]] void refuse(const std::string& loop, const Block& part, const std::string& why) {
  throw InvalidRequest({"block", part.name(),
                        fmt::format("{} runs at each step, and {}", loop, why),
                        "give a DenoisePart, or insert it before or after the loop"});
}

void check_part(const std::string& loop, const Block& part) {
  if (as_predict_part(part)) return;
  if (!as_denoise_part(part) && part.kind() != Block::Kind::plain)
    refuse(loop, part, "this is a loop, or a block of another loop");
  if (part.guidance() == Guidance::per_condition)
    refuse(loop, part, "cannot run a block once for each condition");
}

LocalValues values_of(Walk& walk) {
  LocalValues values(walk.made);
  values.bind(slots::schedule.name, walk.schedule);
  values.bind(slots::latents.name, walk.latents);
  values.bind(slots::predicted_original.name, walk.denoised);
  return values;
}

StepAt at_step(const Walk& walk) {
  const LoopProgress next = walk.next();
  return {next.step, next.timestep, next.steps};
}

}  // namespace

DenoiseLoop::DenoiseLoop(const DenoiseOptions& options)
    : WalkLoop(options.name, Stage::denoise_loop, Guidance::takes_over, options.trigger),
      options_(with_parts(options)) {
  for (const auto& part : options_.parts) {
    check_part(name(), *part);
    const PredictPart* predict = as_predict_part(*part);
    if (predict && predict_) refuse(name(), *part, "asks the network once");
    if (predict) predict_ = predict;
  }
  adopt_list(options_.parts, Made::is_local, {slots::predicted_original.name});
}

std::shared_ptr<const Block> DenoiseLoop::with_options(const DenoiseOptions& options) const {
  return std::make_shared<DenoiseLoop>(options);
}

std::shared_ptr<const Block> DenoiseLoop::with_inner(const BlockList& inner) const {
  if (inner.empty()) {
    throw InvalidRequest({"block", name(), "a loop without blocks",
                          fmt::format("remove(list, \"{}\") instead", name())});
  }
  DenoiseOptions options = options_;
  options.parts = inner;
  auto made = with_options(options);
  ensure(typeid(*made) == typeid(*this), "an edit made another loop of '{}'", name());
  return made;
}

Walk DenoiseLoop::begin(Frame& frame) const {
  return begun(frame, frame[schedule], frame[latents]);
}

Walk DenoiseLoop::begun(Frame& frame, Schedule along, Tensor from) const {
  Walk walk;
  walk.schedule = std::move(along);
  walk.latents = std::move(from);
  walk.index = walk.schedule.begin;
  walk.end = walk.schedule.last();
  if (predict_) frame.within(*predict_, [&] { predict_->begin(frame, walk); });
  return walk;
}

// The part that asks the network; 0 where none does.
size_t DenoiseLoop::asks_at() const {
  auto at = std::ranges::find(options_.parts, predict_, &std::shared_ptr<const Block>::get);
  return predict_ ? static_cast<size_t>(at - options_.parts.begin()) : 0;
}

void DenoiseLoop::run_parts(Frame& frame, Walk& walk, size_t first, size_t end) const {
  const StepAt at = at_step(walk);
  const LocalValues values = values_of(walk);
  for (size_t i = first; i < end; ++i) run_part(frame, *options_.parts[i], at, values);
}

bool DenoiseLoop::want(Frame& frame, Walk& walk, std::vector<Row>& rows) const {
  if (walk.index >= walk.end) return false;
  run_parts(frame, walk, 0, asks_at());
  if (!predict_) return true;
  const LocalValues values = values_of(walk);
  frame.within(
      *predict_, [&] { predict_->ask(frame, walk, rows); }, &values);
  return true;
}

void DenoiseLoop::accept(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const {
  walk.denoised = Tensor();
  const LocalValues values = values_of(walk);
  if (predict_)
    frame.within(
        *predict_, [&] { predict_->take(frame, walk, predictions); }, &values);
  run_parts(frame, walk, predict_ ? asks_at() + 1 : 0, options_.parts.size());
  ++walk.index;
}

void DenoiseLoop::finish(Frame& frame, Walk& walk) const {
  frame[latents] = walk.latents;
}

// A loop whose parts ask no network is never asked for one.
Denoiser DenoiseLoop::denoiser(Frame& frame) const {
  if (!predict_) return {nullptr, 1};
  return frame.within(*predict_, [&] { return predict_->denoiser(frame); });
}

void DenoiseLoop::check(Checks& checks) const {
  check_parts(options_.parts, checks);
}

void DenoiseLoop::check_loaded(Checks& checks) const {
  check_loaded_parts(options_.parts, checks);
}

}  // namespace omnirt::blocks
