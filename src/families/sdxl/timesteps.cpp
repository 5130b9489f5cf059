#include "families/sdxl/timesteps.hpp"

#include <fmt/format.h>

#include <cmath>

#include "pipeline/checks.hpp"

namespace omnirt::families {

namespace {

struct WalkOptions {
  int64_t steps = 0;
  double eta = 0;
  std::optional<double> strength{};  // none: from noise
  std::optional<double> start{};
  std::optional<double> end{};
};

// The timestep at which a share of the schedule is done (Python's round: halves to even).
double cutoff(const SchedulerChoice& choice, double share) {
  auto trained = choice.config.value("num_train_timesteps", 1000.0);
  return std::nearbyint(trained - share * trained);
}

// Where a run begins that another has brought to `cut`: a schedule of second order is not entered
// between the two calls of a step.
size_t begin_below(const Scheduler& scheduler, double cut) {
  const std::vector<double>& timesteps = scheduler.timesteps();
  auto left = std::ranges::count_if(timesteps, [&](double t) { return t < cut; });
  if (scheduler.order() == 2 && left % 2 == 0) ++left;
  return timesteps.size() - std::min(static_cast<size_t>(left), timesteps.size());
}

Schedule walk_of(const SchedulerChoice& choice, const WalkOptions& options) {
  Schedule walk{blocks::planned(choice, options.steps, options.eta)};
  const std::vector<double>& timesteps = walk.scheduler->timesteps();
  if (options.start) {
    walk.begin = begin_below(*walk.scheduler, cutoff(choice, *options.start));
  } else if (options.strength) {
    int64_t first = blocks::first_step(options.steps, *options.strength);
    walk.begin = static_cast<size_t>(first * walk.scheduler->order());
  }
  walk.begin = std::min(walk.begin, timesteps.size());
  walk.end = timesteps.size();
  if (options.end) {
    double cut = cutoff(choice, *options.end);
    auto from = timesteps.begin() + static_cast<int64_t>(walk.begin);
    walk.end = walk.begin + static_cast<size_t>(std::count_if(from, timesteps.end(),
                                                              [&](double t) { return t >= cut; }));
  }
  return walk;
}

// Shares are between the ends of the schedule, which would say nothing.
bool check_share(Checks& checks, const Config<double>& port) {
  auto share = checks.maybe(port);
  if (!share || (*share > 0 && *share < 1)) return true;
  checks.error({"config." + port.name(), fmt::format("{}", *share),
                "a share of the schedule between 0 and 1 is expected, without the two",
                "remove it to denoise the whole schedule"});
  return false;
}

// A run makes at least one call of the network.
void check_walk(Checks& checks, const SchedulerChoice& choice, const WalkOptions& options) {
  Schedule walk = walk_of(choice, options);
  if (walk.begin < walk.end) return;
  if (options.end || options.start) {
    const char* name = options.end ? keys::denoising_end.name : keys::denoising_start.name;
    checks.error({fmt::format("config.{}", name),
                  fmt::format("{}", options.end ? *options.end : *options.start),
                  fmt::format("leaves none of the {} steps", options.steps),
                  "give another share, or more steps"});
    return;
  }
  checks.error({"config.strength", fmt::format("{}", options.strength.value_or(0)),
                fmt::format("leaves none of the {} steps", options.steps),
                fmt::format("give at least {:.3g}, or more steps",
                            1.0 / static_cast<double>(options.steps))});
}

// As the run's frame has them, or the request's checks.
template <class View>
WalkOptions partial(const View& view, const SetPartialTimestepsXL& block) {
  return {.steps = view[block.num_inference_steps],
          .eta = view[block.eta],
          .strength = view[block.strength],
          .start = view.maybe(block.denoising_start),
          .end = view.maybe(block.denoising_end)};
}

}  // namespace

void SetTimestepsXL::check(Checks& checks) const {
  if (!check_share(checks, denoising_end)) return;
  check_walk(checks, checks[scheduler],
             {.steps = checks[num_inference_steps], .end = checks.maybe(denoising_end)});
}

void SetTimestepsXL::run(Frame& frame) const {
  frame[schedule] = walk_of(
      frame[scheduler],
      {.steps = frame[num_inference_steps], .eta = frame[eta], .end = frame.maybe(denoising_end)});
}

void SetPartialTimestepsXL::check(Checks& checks) const {
  bool start_ok = check_share(checks, denoising_start);
  if (!check_share(checks, denoising_end) || !start_ok) return;
  auto start = checks.maybe(denoising_start), end = checks.maybe(denoising_end);
  if (start && end && *start >= *end) {
    checks.error({"config.denoising_start", fmt::format("{}", *start),
                  fmt::format("not before denoising_end {}", *end), "give a smaller one"});
    return;
  }
  if (start) checks.unused(strength, "has no effect with denoising_start", "give one of them");
  check_walk(checks, checks[scheduler], partial(checks, *this));
}

void SetPartialTimestepsXL::run(Frame& frame) const {
  Schedule walk = walk_of(frame[scheduler], partial(frame, *this));
  ensure(walk.begin < walk.end, "denoising begins at call {} of {}", walk.begin, walk.end);
  walk.scheduler->set_begin(walk.begin);
  frame[schedule] = std::move(walk);
}

}  // namespace omnirt::families
