#include "backends/cpu/simd/attention.hpp"

#include <algorithm>

#include "backends/cpu/simd/targets.h"
#include "backends/cpu/simd/thread_team.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/attention.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/attention_chunk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// `blocks` query blocks of a head, chunk by chunk.
template <class Product>
void attend(const AttentionArgs& args, int64_t head, const HeadRows& rows, int64_t first,
            int64_t blocks, int64_t chunk, float* scratch) {
  const int64_t width = block_queries, sample = head / args.heads;
  for (int64_t block = 0; block < blocks; block += chunk) {
    AttentionChunk<Product> work(args, sample, head % args.heads, rows, (first + block) * width,
                                 std::min(chunk, blocks - block));
    work.run(scratch);
  }
}

// How the queries of `heads` heads are shared out.
struct Spans {
  int64_t blocks, span, count, chunk;  // blocks of a head; of a span; spans of a head
  Spans(const AttentionArgs& args, int64_t heads) {
    const int64_t width = block_queries;
    blocks = (args.q_tokens + width - 1) / width;
    // As much of a head as leaves work for every thread.
    const int64_t fair = std::max<int64_t>(1, heads * blocks / (4 * team_size()));
    span = std::min(fair, blocks);
    count = (blocks + span - 1) / span;
    chunk = std::min(most_chunk_blocks(args.head_dim), span);
  }
  int64_t blocks_of(int64_t index) const { return std::min(span, blocks - index * span); }
};

void attention_kernel(const AttentionArgs& args) {
  const int64_t heads = args.batch * args.heads;
  const Spans spans(args, heads);
  const size_t own = AttentionChunk<PlainProduct>::scratch_floats(args.head_dim, spans.chunk);
  const size_t packed =
      worth_packing(args, spans.span) ? static_cast<size_t>(2 * args.k_tokens * args.head_dim) : 0;
  parallel_for(heads * spans.count, [&](int64_t item, int thread) {
    const int64_t head = item / spans.count, index = item % spans.count;
    const int64_t blocks = spans.blocks_of(index);
    float* memory = scratch(thread, own + packed);
    HeadRows rows = head_rows(args, head / args.heads, head % args.heads);
    if (worth_packing(args, blocks)) rows = pack_head(rows, args.head_dim, memory + own);
    attend<PlainProduct>(args, head, rows, index * spans.span, blocks, spans.chunk, memory);
  });
}

#if OMNIRT_BF16_VECTORS
// Keys and values of up to this many bytes are paired before queries are attended to.
constexpr int64_t most_paired_bytes = 16 << 20;
constexpr int64_t keys_at_once = 64;  // to be paired; even

// Where the pairs of a head of keys and values are.
HeadRows paired_rows(const AttentionArgs& args, int64_t count, float* memory) {
  const int64_t dims = args.head_dim, lanes = float_lanes;
  const int64_t stride = (dims + lanes - 1) / lanes * lanes / 2;
  return {memory, memory + args.k_tokens * stride, stride, dims, count};
}
size_t paired_floats(const AttentionArgs& args) {
  const HeadRows rows = paired_rows(args, 0, nullptr);
  return static_cast<size_t>(args.k_tokens * rows.key_stride +
                             (args.k_tokens + 1) / 2 * rows.value_stride);
}

void pair_head(const HeadRows& from, size_t dims, int64_t first, const HeadRows& to) {
  const int64_t end = std::min(first + keys_at_once, from.count);
  auto* keys = const_cast<float*>(to.keys);
  auto* values = const_cast<float*>(to.values);
  for (int64_t key = first; key < end; ++key)
    pair_key(from.keys + key * from.key_stride, dims, keys + key * to.key_stride);
  for (int64_t key = first; key < end; key += 2) {
    const float* even = from.values + key * from.value_stride;
    pair_values(even, key + 1 < end ? even + from.value_stride : nullptr, dims,
                values + key / 2 * to.value_stride);
  }
}

// Heads of keys [first, first + count), and the queries that ask them.
void attend_paired(const AttentionArgs& args, int64_t first, int64_t count, float* memory) {
  const size_t floats = paired_floats(args);
  const int64_t own_heads = args.heads / args.sharing;
  const auto paired = [&](int64_t head) {
    const int64_t sample = (first + head) / own_heads;
    return paired_rows(args, args.key_counts ? args.key_counts[sample] : args.k_tokens,
                       memory + static_cast<size_t>(head) * floats);
  };
  const int64_t parts = (args.k_tokens + keys_at_once - 1) / keys_at_once;
  parallel_for(count * parts, [&](int64_t item, int) {
    const int64_t head = item / parts, own = first + head;
    pair_head(head_rows(args, own / own_heads, own % own_heads * args.sharing),
              static_cast<size_t>(args.head_dim), item % parts * keys_at_once, paired(head));
  });
  const int64_t heads = count * args.sharing;
  const Spans spans(args, heads);
  const size_t own = AttentionChunk<PairsProduct>::scratch_floats(args.head_dim, spans.chunk);
  parallel_for(heads * spans.count, [&](int64_t item, int thread) {
    const int64_t head = item / spans.count, index = item % spans.count;
    attend<PairsProduct>(args, first * args.sharing + head, paired(head / args.sharing),
                         index * spans.span, spans.blocks_of(index), spans.chunk,
                         scratch(thread, own));
  });
}
#endif

void attention_pairs(const AttentionArgs& args) {
#if OMNIRT_BF16_VECTORS
  TeamHold hold;
  const int64_t heads = args.batch * args.heads / args.sharing;
  const auto bytes = static_cast<int64_t>(paired_floats(args) * sizeof(float));
  const int64_t at_once = std::clamp<int64_t>(most_paired_bytes / bytes, 1, heads);
  float* memory = hold.scratch(static_cast<size_t>(at_once) * paired_floats(args));
  for (int64_t head = 0; head < heads; head += at_once)
    attend_paired(args, head, std::min(at_once, heads - head), memory);
#else
  attention_kernel(args);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backends/cpu/simd/bf16_product.hpp"

namespace omnirt::cpu {

HWY_EXPORT(attention_kernel);
HWY_EXPORT(attention_pairs);

void attention(const AttentionArgs& args) {
  if (args.batch * args.heads * args.q_tokens == 0) return;
  HWY_DYNAMIC_DISPATCH(attention_kernel)(args);
}

void attention_bf16(const AttentionArgs& args) {
  if (args.batch * args.heads * args.q_tokens == 0) return;
  bf16_available() ? HWY_DYNAMIC_DISPATCH(attention_pairs)(args)
                   : HWY_DYNAMIC_DISPATCH(attention_kernel)(args);
}

}  // namespace omnirt::cpu
#endif
