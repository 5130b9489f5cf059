// What the order makes of the load of `omnirt bench` (docs/performance.md), in virtual time: the
// server's queue, table of shared steps and turns, with a clock in place of runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "serve/job_queue.hpp"
#include "serve/load.hpp"
#include "serve/memory_store.hpp"
#include "serve/step_sharing.hpp"
#include "serve/virtual_clock.hpp"

namespace omnirt::serve {
namespace {

// Milliseconds of the parts of a request: ten times those of the embedded model, for a clock of
// whole ones. `around`: what a request takes beside its run.
constexpr int64_t prepare_ms = 40, step_ms = 54, decode_ms = 80, files_ms = 90, around_ms = 35;
constexpr size_t in_flight = 5;
const std::map<std::string, int64_t> kinds_of_steps{
    {"4 steps", 4}, {"20 steps", 20}, {"50 steps", 50}};

class Served {
 public:
  // `gain`: of four runs that share their steps.
  Served(JobOrder order, double gain)
      : queue_(store_, clock_, {.order = order, .waiting = 100'000}),
        sharing_(ShareSteps::automatic),
        begun_ms_(clock_.now) {
    for (size_t runs = 1; runs <= 4; ++runs) {
      const double less = 1 + (gain - 1) * static_cast<double>(runs - 1) / 3;
      shared_ms_[runs] = static_cast<double>(step_ms) * static_cast<double>(runs) / less;
      for (size_t i = 0; i < StepSharing::samples; ++i) sharing_.learn("w", runs, shared_ms_[runs]);
    }
  }

  std::vector<LoadOutcome> serve(const std::vector<LoadArrival>& arrivals,
                                 const std::vector<LoadKind>& kinds) {
    outcomes_.resize(arrivals.size());
    for (size_t next = 0; next < arrivals.size() || queue_.waiting() + runs_.size() > 0;) {
      for (; next < arrivals.size() && arrivals[next].at_ms <= now(); ++next) {
        outcomes_[next].arrival = arrivals[next];
        const int64_t steps = kinds_of_steps.at(kinds[arrivals[next].kind].name);
        queue_.submit({.id = std::to_string(next), .work = "w", .request = "{}", .steps = steps});
      }
      if (!turn()) clock_.now = begun_ms_ + static_cast<int64_t>(std::ceil(arrivals[next].at_ms));
    }
    return outcomes_;
  }

 private:
  struct Run {
    Lease lease;
    int64_t steps, step = 0;
    bool prepared = false;
  };

  double now() const { return static_cast<double>(clock_.now - begun_ms_); }

  std::vector<std::string> paused() const {
    std::vector<std::string> ids;
    for (const auto& [id, run] : runs_) ids.push_back(id);
    return ids;
  }

  // As the dispatcher has it: those that share the next step, or the one that is to be brought
  // there.
  std::vector<std::string> next() {
    const bool may_begin = runs_.size() < in_flight;
    const std::string first = queue_.first(may_begin, paused());
    auto leads = runs_.find(first);
    const bool steps =
        leads != runs_.end() && leads->second.prepared && leads->second.step < leads->second.steps;
    if (!steps) return {first};
    size_t room = may_begin ? in_flight - runs_.size() - 1 : 0;
    std::vector<std::string> able;
    for (const std::string& id : queue_.alike(first, may_begin, paused())) {
      auto run = runs_.find(id);
      if (run == runs_.end() ? room == 0 : run->second.step == run->second.steps) continue;
      if (run == runs_.end()) --room;
      able.push_back(id);
    }
    able.resize(std::min<size_t>(able.size(), 4));
    able.resize(sharing_.runs("w", able.size(), runs_.size() + queue_.waiting()));
    if (able.size() < 2) return {first};
    for (const std::string& id : able) {
      if (auto run = runs_.find(id); run == runs_.end() || !run->second.prepared) return {id};
    }
    return able;
  }

  // False: there is nothing to do.
  bool turn() {
    const std::vector<std::string> ids = next();
    if (ids.front().empty()) return false;
    if (!runs_.contains(ids.front()))
      runs_[ids.front()] = {queue_.lease(ids.front()), queue_.find(ids.front())->steps};
    Run& run = runs_.at(ids.front());
    if (!run.prepared) {
      run.prepared = true;
      pass(ids, "denoise_loop", prepare_ms);
    } else if (run.step < run.steps) {
      for (const std::string& id : ids) ++runs_.at(id).step;
      pass(ids, "denoise_loop", shared_ms_[ids.size()]);
    } else {
      pass(ids, "export", decode_ms);
      LoadOutcome& made = outcomes_[std::stoul(ids.front())];
      made.ms = now() + files_ms + around_ms - made.arrival.at_ms;
      made.status = 200;
      queue_.finish(run.lease, "{}", 0);
      runs_.erase(ids.front());
    }
    return true;
  }

  void pass(const std::vector<std::string>& ids, const char* stage, double ms) {
    clock_.now += std::llround(ms);
    for (const std::string& id : ids) {
      const Run& run = runs_.at(id);
      queue_.progress(run.lease, {stage, run.step, run.steps}, ms, ids.size());
    }
  }

  VirtualClock clock_;
  MemoryJobStore store_;
  JobQueue queue_;
  StepSharing sharing_;
  int64_t begun_ms_;
  std::map<size_t, double> shared_ms_;
  std::map<std::string, Run> runs_;
  std::vector<LoadOutcome> outcomes_;
};

std::vector<LoadKind> mix() {
  std::vector<LoadKind> kinds = read_mix("50:4,40:20,10:50", Json::object());
  for (LoadKind& kind : kinds) {
    const int64_t steps = kinds_of_steps.at(kind.name);
    kind.own_ms =
        static_cast<double>(prepare_ms + step_ms * steps + decode_ms + files_ms + around_ms);
  }
  return kinds;
}

Json figures(JobOrder order, double gain, uint64_t seed) {
  const std::vector<LoadKind> kinds = mix();
  const auto arrivals =
      poisson_arrivals(kinds, rate_of_load(kinds, 0.9), 100'000, /*seconds=*/600, seed);
  return load_figures(kinds, Served(order, gain).serve(arrivals, kinds), /*factor=*/3);
}

double p99(const Json& figures, size_t kind) {
  return figures["kinds"][kind]["p99_ms"].get<double>();
}

// Shared steps make arrival order faster, too: what it is without them is what is called first
// come, first served.
TEST(LoadOrder, ShortestFirstMeetsObjectivesThatArrivalMisses) {
  for (uint64_t seed : {1, 2, 3}) {
    const Json arrival = figures(JobOrder::arrival, 1, seed);
    EXPECT_LE(arrival["attainment"], 0.7);
    for (double gain : {1.0, 1.15, 1.45}) {
      SCOPED_TRACE(testing::Message() << "gain " << gain << " seed " << seed);
      const Json shortest = figures(JobOrder::shortest, gain, seed);
      RecordProperty(
          fmt::format("gain {} seed {}", gain, seed),
          fmt::format("in time {:.3f} of {:.3f}, p99 of 4 steps {:.3f}, of 50 {:.3f}",
                      shortest["attainment"].get<double>(), arrival["attainment"].get<double>(),
                      p99(shortest, 0) / p99(arrival, 0), p99(shortest, 2) / p99(arrival, 2)));
      EXPECT_GE(shortest["attainment"], 0.8);
      EXPECT_LE(p99(shortest, 0), 0.15 * p99(arrival, 0));
      EXPECT_LE(p99(shortest, 2), 3 * p99(arrival, 2));
    }
  }
}

}  // namespace
}  // namespace omnirt::serve
