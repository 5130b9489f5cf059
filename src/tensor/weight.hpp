#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/weight_file.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// One tensor of a checkpoint: immutable bytes in the file's own type, with the owner that keeps
// them alive.
struct Weight {
  std::string name;  // as the file names it
  // Of the elements; of the numbers that they are widened to, where there is an encoding.
  io::Dtype dtype = io::Dtype::f32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  // Releases the memory behind the bytes (pages of a mapped file), which stay readable; may be
  // empty.
  std::function<void()> release;
  // How the bytes encode numbers, where they are not one number per element; the weight is then its
  // elements from `first` on.
  std::shared_ptr<const io::Encoding> encoding{};
  size_t first = 0;
  // A narrower type that its numbers are rounded to and kept in while they are computed with
  // (layerwise casting); of vectors, which are widened again, they are only rounded.
  std::optional<io::Dtype> kept_as{};

  // A tensor over the bytes, nothing copied (but bytes that are not aligned); of encoded bytes, the
  // numbers in fp32, a new tensor. Must not be written to.
  Tensor view() const;
  // As reports call what is stored: "fp16", "q4_k".
  std::string stored_as() const;
};

// A file's tensor as a weight.
Weight weight_of(const io::FoundTensor& tensor);
// `span` of `parts` equal stacks of its rows, from the `part`th on, whose shape is `shape`. Throws
// Unsupported where an encoding's blocks reach from one part into the next.
Weight weight_of(const io::FoundTensor& tensor, std::vector<int64_t> shape, size_t part,
                 size_t parts, size_t span = 1);

// Emits the numbers of a weight, in pieces: its bytes as stored, or of encoded ones fp32.
void emit_numbers(const Weight& weight,
                  const std::function<void(std::span<const std::byte>)>& emit);

// The weights of one component by the names its network uses. Immutable once filled; shared by all
// requests.
class WeightStore {
 public:
  void add(std::string name, Weight weight);
  const std::map<std::string, std::shared_ptr<const Weight>>& all() const { return weights_; }
  // Stored bytes of all weights.
  size_t bytes() const;

 private:
  std::map<std::string, std::shared_ptr<const Weight>> weights_;
};

at::ScalarType scalar_type(io::Dtype dtype);

}  // namespace omnirt
