#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/sharded.hpp"

namespace omnirt {

// "[320, 4, 3, 3]", as messages show a shape.
std::string shape_text(const std::vector<int64_t>& shape);

// Names and shapes of a checkpoint's tensors: what a model is recognised by.
class TensorShapes {
 public:
  TensorShapes() = default;
  explicit TensorShapes(const io::TensorFiles& files);
  explicit TensorShapes(std::map<std::string, std::vector<int64_t>> shapes)
      : shapes_(std::move(shapes)) {}
  void add(std::string name, std::vector<int64_t> shape) {
    shapes_[std::move(name)] = std::move(shape);
  }

  const std::map<std::string, std::vector<int64_t>>& all() const { return shapes_; }
  bool has(const std::string& name) const { return shapes_.contains(name); }
  // Whether a name begins so.
  bool any(const std::string& prefix) const;
  // One size of a tensor; `axis` may be negative, as from the end. Throws InvalidFile where there
  // is no such tensor or axis, or the size is none of a network's.
  int64_t size(const std::string& name, int axis) const;
  size_t rank(const std::string& name) const;
  // How many numbers follow one another from 0 between `prefix` and a point: 3 for p.0.x, p.1.x and
  // p.2.y.
  int64_t count(const std::string& prefix) const;

 private:
  std::map<std::string, std::vector<int64_t>> shapes_;
};

}  // namespace omnirt
