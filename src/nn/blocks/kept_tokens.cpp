#include "nn/blocks/kept_tokens.hpp"

#include <fmt/format.h>

namespace omnirt::nn {
namespace {

Tensor behind(Context& cx, const Tensor& before, const Tensor& own) {
  if (before.size(0) == own.size(0)) return cx.ops().concat(cx, {before, own});
  Tensor each = before.expand({own.size(0), before.size(1), before.size(2)});
  return cx.ops().concat(cx, {each, own});
}

}  // namespace

KeysAndValues preceded_by(Context& cx, const KeysAndValues& own, const KeysAndValues& before) {
  return {behind(cx, before.key, own.key), behind(cx, before.value, own.value)};
}

KeptTokens::KeptTokens(Context& cx, std::vector<Block> blocks, Call call)
    : cx_(cx), blocks_(std::move(blocks)), call_(std::move(call)), state_(call_.tokens) {
  auto note = [&](const std::string& path) {
    if (cx_.site(path)) skipped_ += " without " + path;
  };
  for (const Block& block : blocks_) {
    note(block.path);
    for (const std::string& part : block.parts) note(part);
  }
}

// Blocks are read in their order; one that was read in an earlier call, but whose result is gone,
// from the beginning.
KeysAndValues KeptTokens::read(size_t i) {
  if (reached_ > i) {
    state_ = call_.tokens;
    reached_ = 0;
  }
  KeysAndValues made;
  for (; reached_ <= i; ++reached_) {
    const Block& block = blocks_[reached_];
    if (cx_.site(block.path)) continue;
    state_ = block.read(state_, made, /*keys_alone=*/reached_ + 1 == blocks_.size());
  }
  return made;
}

KeysAndValues KeptTokens::of(size_t i) {
  if (!call_.once) return read(i);
  KeysAndValues made;
  auto part = [&](const char* name, Tensor KeysAndValues::*which) {
    return cx_.once(fmt::format("{} {}{}", blocks_[i].path, name, skipped_), call_.given, [&] {
      if (!made.key.defined()) made = read(i);
      return made.*which;
    });
  };
  const Tensor key = part("keys", &KeysAndValues::key);
  return {key, part("values", &KeysAndValues::value)};
}

}  // namespace omnirt::nn
