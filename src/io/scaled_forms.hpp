#pragma once
#include <set>
#include <span>
#include <string>

#include "base/json.hpp"
#include "io/scaled_encoding.hpp"

namespace omnirt::io {

inline constexpr const char* quantized_elsewhere =
    "take the model in bf16, fp8 or GGUF, which most publishers offer too";

// The tensors of a file (sorted by name) as those of layers, and which of them were used.
class LayerTensors {
 public:
  LayerTensors(std::span<const FoundTensor> tensors, const std::string& file)
      : tensors_(tensors), file_(file) {}

  const FoundTensor* find(const std::string& name) const;
  // `<layer>.<last>`, which is used then; nullptr where there is none.
  const FoundTensor* take(const std::string& layer, const char* last);
  // The same for a scale that `format` cannot do without. Throws InvalidFile.
  const FoundTensor& need(const std::string& layer, const char* last, const std::string& format);
  void use(const std::string& name) { used_.insert(name); }
  bool used(const std::string& name) const { return used_.contains(name); }
  // Throws InvalidFile naming the file and the tensor.
  [[noreturn]] void fail(const std::string& name, std::string message) const;
  const std::string& file() const { return file_; }

 private:
  std::span<const FoundTensor> tensors_;
  const std::string& file_;
  std::set<std::string> used_;
};

// fp8 with a scale for each 128 x 128, and diffusers' nvfp4, which no file names.
inline constexpr const char* fp8_in_blocks = "fp8 in blocks";
inline constexpr const char* nvfp4_of_diffusers = "nvfp4 of diffusers";

// How a layer's `weight` is stored in a format of ComfyUI's (or one of the two), with the scales,
// which are used then. `json` has the layer's settings. Throws InvalidFile for scales that are
// missing or mis-shaped, Unsupported for other formats.
ScaledForm read_scaled_form(LayerTensors& tensors, const std::string& format,
                            const TensorEntry& weight, const std::string& layer, const Json& json);

// The elements of a tensor; of a matrix, those of a row.
int64_t element_count(const TensorEntry& entry);
int64_t row_elements(const TensorEntry& weight);

}  // namespace omnirt::io
