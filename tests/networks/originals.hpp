#pragma once
#include "networks/support.hpp"
#include "weights/original_weights.hpp"

// What tests of files in a network's original layout, and of its adapters, have in common.
namespace omnirt::testing {

using Shapes = std::map<std::string, std::vector<int64_t>>;

// A folder's network, and its weights as original.safetensors next to them holds them.
struct OriginalFile {
  explicit OriginalFile(const std::string& case_folder);

  std::filesystem::path folder;
  std::unique_ptr<nn::Network> network;
  io::TensorFiles file;
  nn::OriginalLayout layout;
  std::shared_ptr<const WeightStore> store;
};

// Every weight of the file is the folder's to the bit. The folder's tensors.
Tensors expect_weights_of_folder(const OriginalFile& original);
// The file is written from the weights as it was read, byte for byte.
void expect_written_as_read(const OriginalFile& original);

Shapes shapes_in(const Tensors& tensors);
// What a file in the network's first original layout holds.
Shapes original_shapes(const nn::Network& network);
void expect_same_parameters(const nn::Network& made, const nn::Network& wanted);

// NAME.safetensors of the case changes the network's weights as NAME_deltas.safetensors says,
// merged or next to them; at least `least` are compared.
void expect_changes_of_reference(const nn::Network& network, const std::string& case_folder,
                                 const std::string& name, size_t least = 1);

}  // namespace omnirt::testing
