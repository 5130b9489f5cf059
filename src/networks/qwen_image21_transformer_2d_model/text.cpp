#include "networks/qwen_image21_transformer_2d_model/text.hpp"

#include <fmt/format.h>

namespace omnirt {

QwenImage21Text::QwenImage21Text(Context& cx, const Blocks& blocks, const Call& call)
    : cx_(cx), blocks_(blocks), call_(call), state_(call.tokens) {
  for (size_t i = 0; i < blocks.size(); ++i)
    if (cx.site(blocks[i].path())) skipped_ += fmt::format(" without {}", i);
}

// Blocks are read in their order; one that was read in an earlier call, but whose result is gone,
// from the beginning.
QwenImage21Kept QwenImage21Text::read(size_t i) {
  if (reached_ > i) {
    state_ = call_.tokens;
    reached_ = 0;
  }
  QwenImage21Kept kept;
  for (; reached_ <= i; ++reached_) {
    const QwenImage21TransformerBlock& block = blocks_[reached_];
    if (cx_.site(block.path())) continue;
    const bool last = reached_ + 1 == blocks_.size();
    state_ = block.read_text(cx_, state_, call_.by, call_.at, kept, last);
  }
  return kept;
}

QwenImage21Kept QwenImage21Text::kept_by(size_t i) {
  if (!call_.once) return read(i);
  QwenImage21Kept made;
  auto part = [&](const char* name, Tensor QwenImage21Kept::*of) {
    return cx_.once(fmt::format("{} {}{}", blocks_[i].path(), name, skipped_), call_.given, [&] {
      if (!made.key.defined()) made = read(i);
      return made.*of;
    });
  };
  const Tensor key = part("keys", &QwenImage21Kept::key);
  return {key, part("values", &QwenImage21Kept::value)};
}

}  // namespace omnirt
