#pragma once
#include <span>
#include <vector>

#include "engine/convert.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sharded.hpp"
#include "nn/network.hpp"
#include "tensor/weight.hpp"

namespace omnirt {

// The tensors of a file of weights under its own names, or of a component's folder: for GGUF under
// those of the network's first original layout; for safetensors text encoders keep their own names,
// which are their publishers'. Reads headers only.
class WeightsToConvert {
 public:
  // Throws Unsupported for folders that no network here reads.
  WeightsToConvert(const Catalogue& catalogue, const ConvertRequest& request);
  std::span<const io::TensorSource> tensors() const { return tensors_; }
  const io::FileMetadata& metadata() const { return metadata_; }

 private:
  void take_file(const ConvertRequest& request);
  void take_component(const Catalogue& catalogue, const ConvertRequest& request);

  std::unique_ptr<nn::Network> network_;
  std::shared_ptr<const WeightStore> store_;
  std::vector<io::TensorSource> tensors_;
  io::FileMetadata metadata_;
};

// Whether convert's target is a GGUF file, by its name.
bool is_gguf_name(const std::filesystem::path& path);
// Writes the file that `request.to` and `request.quantize` ask for: GGUF, or safetensors with
// scales; what each of them says of itself.
Json write_quantized(const Catalogue& catalogue, const ConvertRequest& request,
                     std::span<const io::TensorSource> tensors, const io::FileMetadata& metadata);

}  // namespace omnirt
