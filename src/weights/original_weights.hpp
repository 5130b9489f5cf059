#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/safetensors_writer.hpp"
#include "io/sharded.hpp"
#include "nn/network.hpp"
#include "tensor/weight.hpp"

namespace omnirt {

// The layout of this name among the network's. Throws Unsupported where it has none.
nn::OriginalLayout original_layout(const nn::Network& network, const std::string& name);

// The weights of one component out of a checkpoint of one file, by the network's own names. Reads
// headers only; parts of stacked tensors and reshaped ones look into the file, transposed matrices
// are copied. Throws WeightMismatch with every missing, unexpected and mis-shaped tensor.
std::shared_ptr<const WeightStore> open_original_weights(const io::TensorFiles& files,
                                                         const nn::Network& network,
                                                         const nn::OriginalLayout& layout,
                                                         const std::string& prefix,
                                                         const std::string& component);

// The same tensors as in the original layout, to be written. The store must outlive them.
// Throws Unsupported for parameters that have no place in the layout.
std::vector<io::TensorSource> original_tensors(const WeightStore& store, const nn::Network& network,
                                               const nn::OriginalLayout& layout,
                                               const std::string& prefix);

// A weight's bytes for a file, and its pages released after them.
io::TensorSource tensor_source(const std::string& name, std::shared_ptr<const Weight> weight);

// Whether such files hold the name, which the network does not take, next to its parameters.
bool is_leftover(const nn::OriginalLayout& layout, const std::string& name);

// Whether the name is one that other programs write next to any network's parameters and that no
// network reads: flags such as "__index_timestep_zero__", and buffers such as "position_ids".
bool is_marker(const std::string& name);

// The layout of a network's own names, for files that put a prefix before them.
inline constexpr const char* own_names = "own";

}  // namespace omnirt
