#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace omnirt {

// Places for blocks in one range of addresses that grows: the smallest free place that is large
// enough, neighbours joined as they are freed. Only arithmetic, no memory: the same sequence of
// calls gives the same places, so a dry forward predicts how far the range will reach.
class BlockMap {
 public:
  static constexpr size_t alignment = 64;

  static size_t rounded(size_t bytes) {
    return ((bytes > 0 ? bytes : 1) + alignment - 1) / alignment * alignment;
  }
  // The offset of a block of `bytes`.
  size_t take(size_t bytes);
  // Frees the block at `offset`; returns its bytes, rounded up to the alignment.
  size_t free(size_t offset);
  // Bytes in blocks now, and the most so far; how far the range reaches.
  size_t live() const { return live_; }
  size_t peak() const { return peak_; }
  size_t reach() const { return reach_; }
  // The free places {offset, bytes}, in order.
  const std::map<size_t, size_t>& holes() const { return holes_; }
  // Releases the free place at the end of the range, if there is one.
  void cut_tail();

 private:
  void add_hole(size_t offset, size_t bytes);
  void remove_hole(std::map<size_t, size_t>::iterator hole);

  std::map<size_t, size_t> taken_;
  std::map<size_t, size_t> holes_;
  std::set<std::pair<size_t, size_t>> by_size_;  // {bytes, offset}
  size_t live_ = 0;
  size_t peak_ = 0;
  size_t reach_ = 0;
};

// Memory for the tensors of a loop: one reserved range that blocks are taken from and returned to,
// so that a warm loop takes no page faults, which malloc's large blocks cost at every step.
// Thread-safe.
class Arena {
 public:
  // Reserves addresses (no memory) for `capacity` bytes.
  explicit Arena(size_t capacity);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Null where the range is full; 64-byte aligned.
  void* allocate(size_t bytes);
  // Returns the block's bytes.
  size_t free(void* block);
  bool owns(const void* block) const {
    auto at = static_cast<const std::byte*>(block);
    return at >= base_ && at < base_ + capacity_;
  }
  // Returns the memory of free places to the system, the last ones first, and keeps up to `keep`
  // bytes of them: returned memory is expensive to get again.
  void trim(size_t keep = 0);

 private:
  struct State;
  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  State* state_;
};

}  // namespace omnirt
