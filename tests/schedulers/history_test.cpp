// A run that another scheduler object continues from the history of the first.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "schedulers/check_history.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {
namespace {

// In place of a network: any smooth function of sample and call will do.
Tensor predicted(Scheduler& scheduler, const Tensor& sample, size_t call) {
  Tensor input = scheduler.scale_model_input(sample, call);
  return input * 0.4 + 0.1 * static_cast<double>(call + 1);
}

Tensor walk(Scheduler& scheduler, Tensor sample, size_t from, size_t to, Noise& noise) {
  for (size_t call = from; call < to; ++call)
    sample = scheduler.step(predicted(scheduler, sample, call), call, sample, noise).prev_sample;
  return sample;
}

TEST(History, OfEverySchedulerCarriesAWalkOnToTheSameBits) {
  const StepPlan plan{.num_inference_steps = 5, .eta = 0.0, .mu = {}};
  for (const SchedulerInfo& info : all_schedulers()) {
    auto whole = info.make(Json::object(), "scheduler");
    whole->set_timesteps(plan);
    EXPECT_EQ(whole->origin().class_name, info.class_name);
    size_t calls = whole->timesteps().size();
    for (size_t cut = 1; cut < calls; ++cut) {
      SCOPED_TRACE(info.class_name + " cut after " + std::to_string(cut));
      std::vector<uint64_t> seeds{7};
      Noise noise(seeds), other(seeds);
      Tensor start = noise.randn({1, 4, 3, 3});
      whole->set_timesteps(plan);
      Tensor middle = walk(*whole, start, 0, cut, noise);
      History saved(History::Mode::save), restored(History::Mode::restore);
      whole->visit_history(saved);
      restored.tensors = saved.tensors;
      restored.numbers = saved.numbers;
      other.set_state(noise.state());
      auto second = info.make(whole->origin().config, "scheduler");
      second->set_timesteps(whole->plan());
      second->visit_history(restored);
      Tensor expected = walk(*whole, middle, cut, calls, noise);
      EXPECT_TRUE(walk(*second, middle, cut, calls, other).equal(expected));
    }
  }
}

std::unique_ptr<Scheduler> planned(const SchedulerInfo& info) {
  auto scheduler = info.make(Json::object(), "scheduler");
  scheduler->set_timesteps({.num_inference_steps = 5, .eta = 0.0, .mu = {}});
  return scheduler;
}

bool is_taken(const SchedulerInfo& info, const History& history) {
  try {
    auto fresh = planned(info);
    check_history(*fresh, history, 0, fresh->timesteps().size());
  } catch (const InvalidFile&) {
    return false;
  }
  return true;
}

TEST(History, OfEveryWalkIsTaken) {
  for (const SchedulerInfo& info : all_schedulers()) {
    size_t calls = planned(info)->timesteps().size();
    for (size_t cut = 0; cut <= calls; ++cut) {
      std::vector<uint64_t> seeds{7};
      Noise noise(seeds);
      auto scheduler = planned(info);
      walk(*scheduler, noise.randn({1, 4, 3, 3}), 0, cut, noise);
      History saved(History::Mode::save);
      scheduler->visit_history(saved);
      EXPECT_TRUE(is_taken(info, saved)) << info.class_name << " after " << cut;
    }
  }
}

// A scheduler that took one over would read what is not there.
TEST(History, ThatNoWalkLeavesIsRefused) {
  for (const SchedulerInfo& info : all_schedulers()) {
    SCOPED_TRACE(info.class_name);
    std::vector<uint64_t> seeds{7};
    Noise noise(seeds);
    auto scheduler = planned(info);
    walk(*scheduler, noise.randn({1, 4, 3, 3}), 0, 3, noise);
    History saved(History::Mode::save);
    scheduler->visit_history(saved);
    auto damaged = [&](auto&& damage) {
      History history = saved;
      damage(history);
      return is_taken(info, history);
    };
    for (const auto& [name, number] : saved.numbers) {
      for (double forged : {-1e3, 0.5, 1e9, 1e300}) {
        EXPECT_FALSE(damaged([&](History& h) { h.numbers[name] = number + forged; })) << name;
      }
      EXPECT_FALSE(damaged([&](History& h) { h.numbers.erase(name); })) << name;
    }
    for (const auto& [name, list] : saved.tensors) {
      EXPECT_FALSE(damaged([&](History& h) { h.tensors.erase(name); })) << name;
      EXPECT_FALSE(damaged([&](History& h) {
        h.tensors[name].assign(64, noise.randn({1, 4, 3, 3}));
      })) << name;
      if (list.empty()) continue;
      EXPECT_FALSE(damaged([&](History& h) { h.tensors[name].front() = Tensor(); })) << name;
      EXPECT_FALSE(damaged([&](History& h) {
        h.tensors[name].front() = h.tensors[name].front().to(at::kDouble);
      })) << name;
    }
    EXPECT_FALSE(damaged([](History& h) { h.numbers["another"] = 1; }));
  }
}

TEST(History, ThatLacksAnEntryIsRefused) {
  for (const char* name : {"heun", "pndm", "unipc", "lms", "kdpm2", "dpm-solver-singlestep"}) {
    auto scheduler = find_scheduler(name)->make(Json::object(), "scheduler");
    scheduler->set_timesteps({.num_inference_steps = 5, .eta = 0.0, .mu = {}});
    History empty(History::Mode::restore);
    EXPECT_THROW(scheduler->visit_history(empty), InvalidFile) << name;
  }
}

}  // namespace
}  // namespace omnirt
