#include "weights/widened.hpp"

#include <cstring>
#include <memory>
#include <vector>

namespace omnirt {
namespace {

constexpr const char* widened_note = "_widened";  // networks read no key that begins so

}  // namespace

void note_widened(Json& config, const std::string& param, int64_t columns) {
  config[widened_note][param] = columns;
}

std::optional<Weight> widened_weight(const io::FoundTensor& tensor, const Param& param,
                                     const Json& config) {
  const std::vector<int64_t>& stored = tensor.entry->shape;
  auto notes = config.find(widened_note);
  if (notes == config.end() || !notes->is_object() || !notes->contains(param.name) ||
      stored.size() != 2 || param.shape.size() != 2 || stored[0] != param.shape[0] ||
      stored[1] >= param.shape[1] || (*notes)[param.name] != stored[1])
    return std::nullopt;
  const Weight narrow = weight_of(tensor);
  std::vector<std::byte> numbers;
  emit_numbers(narrow, [&](std::span<const std::byte> piece) {
    numbers.insert(numbers.end(), piece.begin(), piece.end());
  });
  const auto rows = static_cast<size_t>(stored[0]);
  const size_t from = numbers.size() / rows, element = from / static_cast<size_t>(stored[1]);
  const size_t to = element * static_cast<size_t>(param.shape[1]);
  auto wide = std::make_shared<std::vector<std::byte>>(rows * to);  // zeros
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(&(*wide)[row * to], &numbers[row * from], from);
  Weight made{.name = narrow.name,
              .dtype = narrow.encoding ? io::Dtype::f32 : narrow.dtype,
              .shape = param.shape,
              .data = wide->data(),
              .bytes = wide->size(),
              .owner = wide,
              .release = {}};
  return made;
}

}  // namespace omnirt
