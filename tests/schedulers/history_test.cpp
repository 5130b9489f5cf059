// A walk that another scheduler object carries on from the history of the first.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {
namespace {

// Stands for a network: any smooth function of sample and call will do.
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
