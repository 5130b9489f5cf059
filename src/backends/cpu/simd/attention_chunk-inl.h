// What one thread does with some queries of a head: pass over the keys, block by block. A Highway
// per-target header.
#if defined(OMNIRT_CPU_ATTENTION_CHUNK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_ATTENTION_CHUNK_INL_H_
#undef OMNIRT_CPU_ATTENTION_CHUNK_INL_H_
#else
#define OMNIRT_CPU_ATTENTION_CHUNK_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "backends/cpu/simd/attention.hpp"
#include "backends/cpu/simd/attention_kernels-inl.h"
#include "backends/cpu/simd/attention_pairs-inl.h"
#include "backends/cpu/simd/attention_transpose-inl.h"
#include "base/cancel_scope.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// Query blocks that share one pass over the keys: each block of keys and values is then fetched
// from memory once for all of them. Their queries and results should stay in an L2 cache.
inline int64_t most_chunk_blocks(int64_t head_dim) {
  constexpr int64_t floats = 512 * 1024 / sizeof(float), most = 16;
  return std::clamp<int64_t>(floats / (2 * head_dim * static_cast<int64_t>(block_queries)), 1,
                             most);
}

// Keys whose scores are held at a time: 126 of them are 16 KB, half of an L1 cache, and nine full
// tiles of 14.
constexpr int64_t most_block_keys = 126;

// Keys are taken in blocks of this many; it depends on nothing but their number, so that splitting
// the queries differently changes no bit.
inline int64_t key_block(int64_t keys) {
  const int64_t blocks = (keys + most_block_keys - 1) / most_block_keys;
  const int64_t even = (keys + blocks - 1) / blocks;
  const int64_t rows = attention_rows;
  return std::min(most_block_keys / rows * rows, (even + rows - 1) / rows * rows);
}

// The keys and values of one head of queries of one sample; strides count floats. With products of
// bf16 they are pairs: keys[key][pair of dims], values[pair of keys][dim].
struct HeadRows {
  const float *keys, *values;
  int64_t key_stride, value_stride;
  int64_t count;
};

inline HeadRows head_rows(const AttentionArgs& args, int64_t sample, int64_t head) {
  const int64_t shared = head / args.sharing;
  return {args.k.data + sample * args.k.batch_stride + shared * args.k.head_stride,
          args.v.data + sample * args.v.batch_stride + shared * args.v.head_stride,
          args.k.token_stride, args.v.token_stride,
          args.key_counts ? args.key_counts[sample] : args.k_tokens};
}

// Rows of one head are far apart in {B, T, heads * d}, two or three on a page: traversing them for
// each chunk of queries costs more in page tables than in arithmetic. So a thread copies them
// together once for all the queries that it takes, if those are enough to pay for it.
inline bool worth_packing(const AttentionArgs& args, int64_t query_blocks) {
  constexpr int64_t most_bytes = 16 << 20, least_blocks = 4;
  return query_blocks >= least_blocks && args.k.token_stride != args.head_dim &&
         8 * args.k_tokens * args.head_dim <= most_bytes;
}

inline HeadRows pack_head(const HeadRows& from, int64_t dims, float* to) {
  float* values = to + from.count * dims;
  for (int64_t key = 0; key < from.count; ++key) {
    std::copy_n(from.keys + key * from.key_stride, dims, to + key * dims);
  }
  for (int64_t key = 0; key < from.count; ++key) {
    std::copy_n(from.values + key * from.value_stride, dims, values + key * dims);
  }
  return {to, values, dims, dims, from.count};
}

// Numbers that hold `count` ones of the kind that Product multiplies.
template <class Product>
constexpr size_t slots(size_t count) {
  return (count + Product::per_slot - 1) / Product::per_slot;
}

// Some consecutive query blocks of one head of one sample, and the memory of the thread at work.
template <class Product>
class AttentionChunk {
 public:
  AttentionChunk(const AttentionArgs& args, int64_t sample, int64_t head, const HeadRows& rows,
                 int64_t first_query, int64_t blocks)
      : args_(args),
        rows_(rows),
        first_query_(first_query),
        blocks_(blocks),
        dims_(static_cast<size_t>(args.head_dim)),
        q_(args.q.data + sample * args.q.batch_stride + head * args.q.head_stride),
        y_(args.y.data + sample * args.y.batch_stride + head * args.y.head_stride),
        bias_(args.bias) {
    if (bias_.data) bias_.data += sample * bias_.batch_stride + head * bias_.head_stride;
  }

  static size_t scratch_floats(int64_t head_dim, int64_t blocks) {
    const size_t a_block = block_queries * (2 * static_cast<size_t>(head_dim) + 2);
    return static_cast<size_t>(blocks) * a_block + most_block_keys * block_queries;
  }

  void run(float* scratch) {
    const size_t panel = dims_ * block_queries;
    const size_t blocks = static_cast<size_t>(blocks_);
    queries_ = scratch;
    result_ = queries_ + blocks * panel;
    highest_ = result_ + blocks * panel;
    total_ = highest_ + blocks * block_queries;
    scores_ = total_ + blocks * block_queries;
    for (int64_t block = 0; block < blocks_; ++block) begin(block);
    const int64_t step = key_block(rows_.count), limit = key_limit(blocks_ - 1);
    for (int64_t key = 0; key < limit; key += step) {
      check_cancelled();
      const int64_t after = key + step, next = std::min(step, limit - after);
      for (int64_t block = 0; block < blocks_; ++block) {
        prefetch(after + next * block / blocks_, after + next * (block + 1) / blocks_);
        take(block, key, std::min(step, key_limit(block) - key));
      }
    }
    for (int64_t block = 0; block < blocks_; ++block) end(block);
  }

 private:
  // Rows that the next block of keys will want, asked for while this one is at work.
  void prefetch(int64_t first, int64_t end) const {
    constexpr size_t line = 16;
    for (int64_t key = first; key < end; ++key) {
      for (size_t dim = 0; dim < slots<Product>(dims_); dim += line)
        hwy::Prefetch(rows_.keys + key * rows_.key_stride + dim);
      if (key % static_cast<int64_t>(Product::per_slot) != 0) continue;
      for (size_t dim = 0; dim < dims_; dim += line) hwy::Prefetch(values_of(key) + dim);
    }
  }

  // Blocks of keys begin at even ones.
  const float* values_of(int64_t key) const {
    return rows_.values + key / static_cast<int64_t>(Product::per_slot) * rows_.value_stride;
  }

  int64_t query_of(int64_t block) const {
    return first_query_ + block * static_cast<int64_t>(block_queries);
  }

  size_t rows_of(int64_t block) const {
    return std::min<size_t>(block_queries, static_cast<size_t>(args_.q_tokens - query_of(block)));
  }

  int64_t key_limit(int64_t block) const {
    if (!args_.causal) return rows_.count;
    return std::min(rows_.count, query_of(block) + static_cast<int64_t>(block_queries));
  }

  void begin(int64_t block) {
    // The exponential is taken to base 2: log2(e) goes into the scale.
    const QueryRows<const float> rows{q_ + query_of(block) * args_.q.token_stride,
                                      args_.q.token_stride, rows_of(block)};
    float* queries = queries_ + block * dims_ * block_queries;
    pack_queries(rows, dims_, static_cast<float>(args_.scale * std::numbers::log2e), queries);
#if OMNIRT_BF16_VECTORS
    if constexpr (Product::per_slot == 2) pair_queries(queries, dims_);
#endif
    // Not -inf: the difference of two of them would be NaN where a whole block of scores is -inf.
    const FloatVec lowest = hn::Set(FloatTag(), std::numeric_limits<float>::lowest());
    store_pair({lowest, lowest}, highest_ + block * block_queries);
  }

  void take(int64_t block, int64_t key, int64_t count) {
    if (count <= 0) return;
    const size_t keys = static_cast<size_t>(count);
    const size_t offset = static_cast<size_t>(block) * dims_ * block_queries;
    float* highest = highest_ + block * block_queries;
    const FloatPair before = load_pair(highest);
    score_block<Product>(rows_.keys + key * rows_.key_stride, static_cast<size_t>(rows_.key_stride),
                         keys, queries_ + offset, slots<Product>(dims_), scores_, highest);
    if (bias_.data) {
      store_pair(before, highest);
      bias_block(bias_at(block, key), keys, scores_, highest);
    }
    if (args_.causal && key + count - 1 > query_of(block)) {
      store_pair(before, highest);
      mask_later_keys(query_of(block) - key, keys, highest);
    }
    const FloatPair now = load_pair(highest);
    FloatPair sum = weigh(keys, now);
    float* total = total_ + block * block_queries;
    HWY_ALIGN float decay[block_queries];
    if (key > 0) {
      const FloatPair by{exp2_weight(hn::Sub(before.a, now.a)),
                         exp2_weight(hn::Sub(before.b, now.b))};
      store_pair(by, decay);
      const FloatPair old = load_pair(total);
      sum = {hn::MulAdd(old.a, by.a, sum.a), hn::MulAdd(old.b, by.b, sum.b)};
    }
    store_pair(sum, total);
    value_block<Product>(values_of(key), static_cast<size_t>(rows_.value_stride),
                         slots<Product>(keys), scores_, dims_, result_ + offset,
                         key > 0 ? decay : nullptr);
  }

  FloatPair weigh(size_t keys, const FloatPair& highest) {
#if OMNIRT_BF16_VECTORS
    if constexpr (Product::per_slot == 2) return weigh_pairs(scores_, keys, highest);
#endif
    return weigh_block(scores_, keys, highest);
  }

  // Scores of keys later than their query become -inf; `ahead` is how far the block's first query
  // is past the first of these keys.
  void mask_later_keys(int64_t ahead, size_t keys, float* highest) {
    const FloatTag tag;
    const FloatVec minus_inf = hn::Set(tag, -std::numeric_limits<float>::infinity());
    for (size_t at = 0; at < block_queries; at += float_lanes) {
      FloatVec top = hn::Load(tag, highest + at);
      for (size_t key = 0; key < keys; ++key) {
        const int64_t distance = ahead + static_cast<int64_t>(at) - static_cast<int64_t>(key);
        const auto seen = hn::Ge(hn::Iota(tag, static_cast<float>(distance)), hn::Zero(tag));
        float* score = scores_ + key * block_queries + at;
        const FloatVec masked = hn::IfThenElse(seen, hn::Load(tag, score), minus_inf);
        hn::Store(masked, tag, score);
        top = hn::Max(top, masked);
      }
      hn::Store(top, tag, highest + at);
    }
  }

  BiasRows bias_at(int64_t block, int64_t key) const {
    return {bias_.data + query_of(block) * bias_.query_stride + key * bias_.key_stride,
            bias_.query_stride, bias_.key_stride, rows_of(block)};
  }

  void end(int64_t block) {
    if (bias_.data) weigh_nothing_as_one(total_ + block * block_queries);
    const QueryRows<float> rows{y_ + query_of(block) * args_.y.token_stride, args_.y.token_stride,
                                rows_of(block)};
    unpack_result(result_ + block * dims_ * block_queries, total_ + block * block_queries, dims_,
                  rows);
  }

  const AttentionArgs& args_;
  HeadRows rows_;
  int64_t first_query_, blocks_;
  size_t dims_;
  const float* q_;
  float* y_;
  ScoreBias bias_;
  float *queries_ = nullptr, *result_ = nullptr, *highest_ = nullptr, *total_ = nullptr,
        *scores_ = nullptr;
};

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
