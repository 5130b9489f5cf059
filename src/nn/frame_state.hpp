#pragma once
#include <string>

#include "runtime/value.hpp"

namespace omnirt::nn {

// What a network that goes through a video in chunks of frames keeps from one chunk for the next:
// the last frames that each causal convolution read. It crosses calls as Values, so that it can
// stay on a device. Before the first chunk it is empty.
class FrameState {
 public:
  FrameState() = default;
  explicit FrameState(Values before) : before_(std::move(before)) {}

  // Whether this is the first chunk.
  bool begins() const { return before_.empty(); }
  // The last frames that `site` read, {P, ...}; null where there are none.
  const Tensor* past(const std::string& site) const {
    auto it = before_.find(site);
    return it == before_.end() ? nullptr : &it->second.front().tensor();
  }
  void keep(const std::string& site, Tensor frames) { after_[site] = {std::move(frames)}; }
  // For the next chunk.
  const Values& after() const { return after_; }

 private:
  Values before_, after_;
};

}  // namespace omnirt::nn
