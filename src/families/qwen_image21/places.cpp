#include "families/qwen_image21/places.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "blocks/reference_tokens.hpp"

namespace omnirt::qwen_image21 {
namespace {

// What comes after what: an image is one thing. Of the text's tokens, then of the images'.
struct Order {
  std::vector<int64_t> text_positions{}, text_turns{};
  std::vector<Tensor> image_ids{}, image_turns{};
  int64_t position = 0, turn = 0;

  void read_text(int64_t upto) {
    while (static_cast<int64_t>(text_turns.size()) < upto) {
      text_positions.push_back(position++);
      text_turns.push_back(turn++);
    }
  }
  void look_at(const Grid& image) {
    image_ids.push_back(blocks::ids_from_middle(position, image.rows, image.columns));
    image_turns.push_back(at::full({image.tokens()}, turn++, at::kLong));
    position += std::max(image.rows, image.columns);
  }
};

}  // namespace

Places places_of(const Sequence& sequence, const Tensor& text) {
  ensure(sequence.before.size() == sequence.images.size(), "{} places of {} images",
         sequence.before.size(), sequence.images.size());
  Order order;
  for (size_t i = 0; i < sequence.images.size(); ++i) {
    order.read_text(sequence.before[i]);
    order.look_at(sequence.images[i]);
  }
  order.read_text(sequence.text);
  std::vector<Tensor> ids{
      at::tensor(order.text_positions, at::kFloat).view({1, -1, 1}).expand({1, -1, 3})};
  std::vector<Tensor> turns{at::tensor(order.text_turns, at::kLong)};
  ids.insert(ids.end(), order.image_ids.begin(), order.image_ids.end());
  turns.insert(turns.end(), order.image_turns.begin(), order.image_turns.end());
  const Tensor all = at::cat(turns);
  Tensor sees = all.unsqueeze(1).ge(all.unsqueeze(0)).to(at::kFloat).unsqueeze(0);
  if (text.defined()) {
    const Tensor images = at::ones({text.size(0), all.size(0) - text.size(1)}, at::kFloat);
    sees = sees * at::cat({text, images}, 1).unsqueeze(1);
  }
  return {at::cat(ids, 1), sees,
          blocks::ids_from_middle(order.position, sequence.made.rows, sequence.made.columns)};
}

}  // namespace omnirt::qwen_image21
