#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/ensure.hpp"
#include "nn/network.hpp"
#include "runtime/component_call.hpp"

namespace omnirt::nn {

// A name among a network's inputs; an optional one may be absent.
struct NetworkInput {
  std::string name;
  bool required = true;
  bool list = false;  // given as "name.0", "name.1", ...
};

using omnirt::NamedTensors;

// The name of one tensor of an input that is a list.
inline std::string list_input(const std::string& name, size_t i) {
  return name + "." + std::to_string(i);
}

// A network that predicts what a sampling loop removes from its latents: the same interface for
// every architecture, with inputs by name. Its input struct names its fields in one
// `static void visit(auto& self, auto& v)`; from that come `inputs()` and `predict()`.
class DenoiserNetwork : public Network {
 public:
  // The prediction, {B, out_channels, H, W}. Throws InternalError for an input that is missing,
  // unknown, or of another batch.
  virtual Tensor predict(Context& cx, const NamedTensors& inputs) const = 0;
  virtual std::vector<NetworkInput> inputs() const = 0;

  virtual int64_t in_channels() const = 0;
  virtual int64_t out_channels() const = 0;
  // {height, width} of the latents that the network was trained on; {0, 0} where the config does
  // not say.
  virtual std::array<int64_t, 2> sample_size() const = 0;
  // Width of encoder_hidden_states.
  virtual int64_t context_dim() const = 0;
  // Width of timestep_cond, where the network takes the guidance scale as an input (as latent
  // consistency models do); it then predicts guided results in one evaluation.
  virtual std::optional<int64_t> time_cond_dim() const { return std::nullopt; }
  // How many places there are above which a step cache can cut the network (SharedStep::branch);
  // 0: none.
  virtual size_t cache_branches() const { return 0; }

 protected:
  using Network::Network;
};

namespace detail {

struct InputNames {
  std::vector<NetworkInput> names;
  void operator()(const char* name, const Tensor&) { names.push_back({name, true}); }
  void operator()(const char* name, const std::optional<Tensor>&) {
    names.push_back({name, false});
  }
  void operator()(const char* name, const std::vector<Tensor>&) {
    names.push_back({name, false, true});
  }
};

struct InputFiller {
  const NamedTensors& from;
  size_t taken = 0;
  void operator()(const char* name, Tensor& member) {
    auto it = from.find(name);
    ensure(it != from.end(), "the network's input '{}' was not given", name);
    member = it->second;
    ++taken;
  }
  void operator()(const char* name, std::optional<Tensor>& member) {
    auto it = from.find(name);
    if (it == from.end()) return;
    member = it->second;
    ++taken;
  }
  void operator()(const char* name, std::vector<Tensor>& member) {
    while (true) {
      auto it = from.find(list_input(name, member.size()));
      if (it == from.end()) return;
      member.push_back(it->second);
      ++taken;
    }
  }
};

}  // namespace detail

template <class Input>
std::vector<NetworkInput> input_names() {
  detail::InputNames visitor;
  Input input;
  Input::visit(input, visitor);
  return std::move(visitor.names);
}

template <class Input>
Input fill_inputs(const NamedTensors& from) {
  detail::InputFiller visitor{from};
  Input input;
  Input::visit(input, visitor);
  ensure(visitor.taken == from.size(), "{} of {} inputs are unknown to the network",
         from.size() - visitor.taken, from.size());
  return input;
}

}  // namespace omnirt::nn
