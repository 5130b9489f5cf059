#include "weights/tensor_shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr int64_t widest = int64_t{1} << 24;  // of a vocabulary; everything else is narrower

}  // namespace

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

TensorShapes::TensorShapes(const io::TensorFiles& files) {
  for (const std::string& name : files.names()) add(name, files.find(name)->entry->shape);
}

bool TensorShapes::any(const std::string& prefix) const {
  auto it = shapes_.lower_bound(prefix);
  return it != shapes_.end() && it->first.starts_with(prefix);
}

int64_t TensorShapes::size(const std::string& name, int axis) const {
  auto it = shapes_.find(name);
  if (it == shapes_.end())
    throw InvalidFile(
        {name, "", "the checkpoint has no such tensor, which is needed for a size", ""});
  auto rank = static_cast<int>(it->second.size());
  int at = axis < 0 ? axis + rank : axis;
  int64_t size = at >= 0 && at < rank ? it->second[static_cast<size_t>(at)] : 0;
  if (size < 1 || size > widest) {
    throw InvalidFile({name, fmt::format("[{}]", fmt::join(it->second, ", ")),
                       "not a shape that a size can be read from", ""});
  }
  return size;
}

size_t TensorShapes::rank(const std::string& name) const {
  auto it = shapes_.find(name);
  return it == shapes_.end() ? 0 : it->second.size();
}

int64_t TensorShapes::count(const std::string& prefix) const {
  int64_t number = 0;
  while (number < 1024 && any(fmt::format("{}{}.", prefix, number))) ++number;
  return number;
}

}  // namespace omnirt
