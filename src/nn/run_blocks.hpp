#pragma once
#include <utility>
#include <vector>

#include "nn/module.hpp"
#include "runtime/context.hpp"

namespace omnirt::nn {

// The tokens that pass from block to block. A block that attends over text and image alike finds
// both in `image`, once they are joined.
struct TokenStream {
  Tensor text{};        // {B, T, D}; undefined: there is none, or it is part of `image`
  Tensor image{};       // {B, L, D}
  Tensor references{};  // {B, N, D}: of reference images; undefined as the text is
};

// A network's blocks, of one list or several, in the order in which tokens pass them.
class BlockList {
 public:
  template <class T>
  void append(const ModuleList<T>& list) {
    for (size_t i = 0; i < list.size(); ++i) blocks_.push_back(&list[i]);
  }
  size_t size() const { return blocks_.size(); }
  const Module& operator[](size_t i) const { return *blocks_[i]; }

 private:
  std::vector<const Module*> blocks_;
};

struct BlockRange {
  size_t first = 0, end = 0;
};

// Runs blocks one after another, each under its own name and after a check for cancellation; a
// block that the call's site plan skips returns what it was given. `block(i, stream)` is one
// block's forward; `after(i, stream)` may read or replace what it returned.
template <class Blocks, class Stream, class Block, class After>
Stream run_blocks(Context& cx, const Blocks& blocks, BlockRange range, Stream stream,
                  const Block& block, const After& after) {
  for (size_t i = range.first; i < range.end; ++i) {
    const std::string& path = blocks[i].path();
    cx.segment(path, [&] {
      if (!cx.site(path)) stream = block(i, std::move(stream));
    });
    after(i, stream);
  }
  return stream;
}

// All of them, with nothing in between.
template <class Blocks, class Stream, class Block>
Stream run_blocks(Context& cx, const Blocks& blocks, Stream stream, const Block& block) {
  return run_blocks(cx, blocks, {0, blocks.size()}, std::move(stream), block,
                    [](size_t, Stream&) {});
}

// The same for blocks that are all given the same arguments.
template <class T, class... Args>
Tensor run_list(Context& cx, const ModuleList<T>& blocks, Tensor x, const Args&... args) {
  return run_blocks(cx, blocks, std::move(x),
                    [&](size_t i, const Tensor& in) { return blocks[i].forward(cx, in, args...); });
}

}  // namespace omnirt::nn
