#include "tensor/generator.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>

#include <mutex>

#include "base/ensure.hpp"

namespace omnirt {

Noise::Noise(std::span<const uint64_t> seeds) {
  for (uint64_t seed : seeds) generators_.push_back(at::detail::createCPUGenerator(seed));
}

Noise Noise::from_state(const Tensor& state) {
  Noise made(std::vector<uint64_t>(static_cast<size_t>(state.size(0)), 0));
  made.set_state(state);
  return made;
}

Tensor Noise::randn(at::IntArrayRef shape) {
  ensure(!shape.empty() && !generators_.empty(),
         "noise of shape without a batch, or without a generator");
  if (generators_.size() == 1) return at::randn(shape, generators_.front(), at::kFloat);
  ensure(shape[0] == static_cast<int64_t>(generators_.size()),
         "noise for a batch of {} from {} generators", shape[0], generators_.size());
  std::vector<int64_t> one(shape.begin(), shape.end());
  one[0] = 1;
  std::vector<Tensor> drawn;
  for (at::Generator& generator : generators_)
    drawn.push_back(at::randn(one, generator, at::kFloat));
  return at::cat(drawn);
}

Tensor Noise::state() const {
  std::vector<Tensor> states;
  for (at::Generator generator : generators_) {  // a handle: copies share the state
    std::scoped_lock lock(generator.mutex());
    states.push_back(generator.get_state());
  }
  return at::stack(states);
}

void Noise::set_state(const Tensor& state) {
  ensure(state.size(0) == static_cast<int64_t>(generators_.size()),
         "{} generator states for {} generators", state.size(0), generators_.size());
  for (size_t i = 0; i < generators_.size(); ++i) {
    std::scoped_lock lock(generators_[i].mutex());
    // A copy: ATen reads the state of a view from the wrong place (it counts a storage's offset in
    // states).
    generators_[i].set_state(state[static_cast<int64_t>(i)].clone());
  }
}

}  // namespace omnirt
