#include "runtime/block_times.hpp"

#include "base/clock.hpp"
#include "runtime/weight_stream.hpp"

namespace omnirt {

BlockTimes::BlockTimes() : clock_(now_ms) {}

void BlockTimes::mark(const WeightStream* stream) {
  const double now = clock_();
  const StreamFigures streamed = stream ? stream->figures() : StreamFigures();
  if (!inside_.empty()) {
    BlockTime& current = all_[inside_.back()];
    current.ms += now - last_ms_;
    current.waited_ms += streamed.waited_ms - last_waited_ms_;
    current.moved_bytes += streamed.bytes - last_bytes_;
  }
  last_ms_ = now;
  last_waited_ms_ = streamed.waited_ms;
  last_bytes_ = streamed.bytes;
}

BlockTimes::Turn::Turn(BlockTimes* times, const std::string& block, const WeightStream* stream)
    : times_(times), stream_(stream) {
  if (!times_) return;
  times_->mark(stream_);
  auto [place, fresh] = times_->places_.try_emplace(block, times_->all_.size());
  if (fresh) times_->all_.push_back({.block = block});
  times_->inside_.push_back(place->second);
  times_->all_[place->second].calls += 1;
}

BlockTimes::Turn::~Turn() {
  if (!times_) return;
  times_->mark(stream_);
  times_->inside_.pop_back();
}

}  // namespace omnirt
