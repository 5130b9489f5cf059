#pragma once
#include <memory>
#include <string>

#include "io/sharded.hpp"
#include "nn/network.hpp"
#include "runtime/binding.hpp"
#include "tensor/weight.hpp"

namespace omnirt {

// The weights of one component by the network's own names: the files' names through the network's
// weight map. Reads headers only. Throws WeightMismatch with every missing, unexpected and
// mis-shaped tensor; `component` and the files are named.
std::shared_ptr<const WeightStore> open_weights(const io::TensorFiles& files,
                                                const nn::Network& network,
                                                const std::string& component);

// Parameters -> weights. The store must be one that open_weights made for this network. `place`
// moves weights to a device; without one they stay on the CPU.
std::shared_ptr<const Binding> bind_weights(const WeightStore& store, const nn::Network& network,
                                            ComputeForm form, Binding::Place place = {});

// A name as in the network's weight map; "" when the map says to ignore it.
std::string mapped_name(const nn::WeightMap& map, const std::string& name);

}  // namespace omnirt
