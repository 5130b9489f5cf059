#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/dtype.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// One tensor of a checkpoint: immutable bytes in the file's own type, with the owner that keeps
// them alive.
struct Weight {
  std::string name;  // as the file names it
  io::Dtype dtype = io::Dtype::f32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  // Gives back the memory behind the bytes (pages of a mapped file), which stay readable; may be
  // empty.
  std::function<void()> release;

  // A tensor over the bytes, nothing copied. Must not be written to.
  Tensor view() const;
};

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
