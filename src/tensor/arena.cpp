#include "tensor/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>

#include "base/ensure.hpp"

namespace omnirt {
namespace {

// Pages of this size are asked for: fewer faults and fewer misses in the address cache.
constexpr size_t huge_page = size_t{2} << 20;

}  // namespace

size_t BlockMap::take(size_t bytes) {
  bytes = rounded(bytes);
  auto fit = by_size_.lower_bound({bytes, 0});
  size_t offset = reach_;
  if (fit != by_size_.end()) {
    auto hole = holes_.find(fit->second);
    size_t left = hole->second - bytes;
    offset = hole->first;
    remove_hole(hole);
    if (left > 0) add_hole(offset + bytes, left);
  } else {
    // A free place at the end is grown instead of left behind.
    auto last = holes_.empty() ? holes_.end() : std::prev(holes_.end());
    if (last != holes_.end() && last->first + last->second == reach_) {
      offset = last->first;
      remove_hole(last);
    }
    reach_ = offset + bytes;
  }
  taken_.emplace(offset, bytes);
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  return offset;
}

size_t BlockMap::free(size_t offset) {
  auto block = taken_.find(offset);
  ensure(block != taken_.end(), "no block starts at offset {}", offset);
  size_t bytes = block->second;
  taken_.erase(block);
  live_ -= bytes;
  size_t start = offset, size = bytes;
  auto next = holes_.lower_bound(start);
  if (next != holes_.end() && next->first == start + size) {
    size += next->second;
    auto joined = next++;
    remove_hole(joined);
  }
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      remove_hole(before);
    }
  }
  add_hole(start, size);
  return bytes;
}

void BlockMap::cut_tail() {
  if (holes_.empty()) return;
  auto last = std::prev(holes_.end());
  if (last->first + last->second != reach_) return;
  reach_ = last->first;
  remove_hole(last);
}

void BlockMap::add_hole(size_t offset, size_t bytes) {
  holes_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void BlockMap::remove_hole(std::map<size_t, size_t>::iterator hole) {
  by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

struct Arena::State {
  std::mutex mutex;
  BlockMap blocks;
};

Arena::Arena(size_t capacity) : state_(new State) {
  size_t wanted = (capacity + huge_page - 1) / huge_page * huge_page;
  void* range = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return;  // without a range every allocation is answered with null
  madvise(range, wanted, MADV_HUGEPAGE);
  base_ = static_cast<std::byte*>(range);
  capacity_ = wanted;
}

Arena::~Arena() {
  if (base_) munmap(base_, capacity_);
  delete state_;
}

void* Arena::allocate(size_t bytes) {
  std::scoped_lock lock(state_->mutex);
  if (bytes > capacity_) return nullptr;
  size_t offset = state_->blocks.take(bytes);
  if (state_->blocks.reach() <= capacity_) return base_ + offset;
  state_->blocks.free(offset);
  state_->blocks.cut_tail();
  return nullptr;
}

size_t Arena::free(void* block) {
  std::scoped_lock lock(state_->mutex);
  return state_->blocks.free(static_cast<size_t>(static_cast<std::byte*>(block) - base_));
}

void Arena::trim(size_t keep) {
  std::scoped_lock lock(state_->mutex);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (auto [offset, bytes] : state_->blocks.holes()) {
    size_t kept = std::min(keep, bytes);
    keep -= kept;
    size_t from = (offset + kept + page - 1) / page * page;
    size_t to = (offset + bytes) / page * page;
    if (to > from) madvise(base_ + from, to - from, MADV_DONTNEED);
  }
}

}  // namespace omnirt
