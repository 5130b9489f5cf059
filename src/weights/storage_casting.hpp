#pragma once
#include <memory>

#include "nn/network.hpp"
#include "tensor/weight.hpp"

namespace omnirt {

// The weights of a network of which those of linear layers, convolutions and tables of tokens are
// kept in `type` while they are computed with (Weight::kept_as), as diffusers' layerwise casting
// keeps them (hooks/layerwise_casting.py): all but those in modules whose names match its default
// patterns or the network's `_skip_layerwise_casting_patterns`. Weights that are stored in no more
// bytes already stay as they are. Throws Unsupported under `component` where weights are encoded in
// blocks, or no weight would be kept narrower.
std::shared_ptr<const WeightStore> cast_for_storage(const WeightStore& store,
                                                    const nn::Network& network, io::Dtype type,
                                                    const std::string& component);

}  // namespace omnirt
