#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/site_plan.hpp"
#include "guiders/guider.hpp"
#include "pipeline/local_values.hpp"
#include "pipeline/schedule.hpp"
#include "runtime/value.hpp"

namespace omnirt {

struct LoopProgress {
  size_t step = 0;   // done
  size_t steps = 0;  // in all
  double timestep = 0;
  double next_timestep = 0;  // of the call after that; 0 after the last one
};

struct Walk;

// The state of a loop: all that it keeps between its steps. Each loop has a kind of its own; none
// is in the frame, so that a loop can run others as often as it likes.
class LoopState {
 public:
  LoopState() = default;
  LoopState(const LoopState&) = default;
  LoopState& operator=(const LoopState&) = default;
  LoopState(LoopState&&) = default;
  LoopState& operator=(LoopState&&) = default;
  virtual ~LoopState() = default;
  // The calls made, and the timestep of the next one; of the last one when the loop is done.
  virtual LoopProgress next() const = 0;
  // After a step: with the timestep that it was made at.
  virtual LoopProgress progress() const = 0;
  // The sample as it is now, {n, ...}.
  virtual const Tensor& sample() const = 0;
  // The sample without its noise as the last step predicted it; undefined where the maths has
  // none.
  virtual Tensor predicted() const { return {}; }
  // How many images or videos the loop's rows are numbered for (RowId::image).
  virtual size_t images() const { return static_cast<size_t>(sample().size(0)); }
  // The one walk that the loop makes; null where it makes several at a time.
  virtual Walk* walk() { return nullptr; }
};

// One sample's path from noise to image: the whole state of a denoise loop.
struct Walk final : LoopState {
  Schedule schedule;
  Tensor latents;    // {n, ...}, on the host
  size_t index = 0;  // the call that is next
  size_t end = 0;
  std::vector<std::string> asked{};  // conditions of the rows that are out, in the rows' order
  GuiderState guider{};              // what the guider keeps between the calls
  // What the network does differently under a condition; of those that have anything.
  std::map<std::string, std::shared_ptr<const SitePlan>> sites{};
  // The network's inputs that are the same at every step, of each image under a condition.
  std::map<std::string, std::vector<Values>> constants{};
  Tensor denoised{};         // as in predicted()
  LocalValues::Made made{};  // what the loop's blocks make for each other

  LoopProgress next() const override;
  LoopProgress progress() const override;
  const Tensor& sample() const override { return latents; }
  Tensor predicted() const override { return denoised; }
  Walk* walk() override { return this; }
};

}  // namespace omnirt
